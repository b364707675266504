// Runs the fuzz target on every input of the corpus, without a fuzzer.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "attention_plasticity/base/text_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace attention_plasticity {
namespace {

TEST(HubAnswersFuzz, ReplaysItsCorpus) {
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(AP_SOURCE_DIR "/fuzz/corpus/hub_answers")) {
    SCOPED_TRACE(entry.path().filename().string());
    const std::string input = read_text_file(entry.path());
    EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()), 0);
    ++inputs;
  }
  EXPECT_GE(inputs, 8);
}

TEST(HubAnswersFuzz, TakesAnEmptyInput) { EXPECT_EQ(LLVMFuzzerTestOneInput(nullptr, 0), 0); }

}  // namespace
}  // namespace attention_plasticity
