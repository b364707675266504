// Runs a fuzz target on every input of its corpus, without a fuzzer. AP_FUZZ_TARGET is the name of the target.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "attention_plasticity/base/text_file.h"
#include "places.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

#define AP_TEXT_OF(name) #name
#define AP_TEXT(name) AP_TEXT_OF(name)

namespace attention_plasticity {
namespace {

int replay(const std::string& bytes) {
  return LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

// Also cut off and with a bit changed at some places, so that the targets do something without a fuzzer too.
TEST(AP_FUZZ_TARGET, ReplaysItsCorpus) {
  const std::filesystem::path folder = source_folder() / "fuzz/corpus" / AP_TEXT(AP_FUZZ_TARGET);
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().filename().string());
    const std::string input = read_file_bytes(entry.path());
    EXPECT_EQ(replay(input), 0);
    for (std::size_t i = 0; i < 16; ++i) {
      const std::size_t at = i * input.size() / 16;
      EXPECT_EQ(replay(input.substr(0, at)), 0);
      if (input.empty()) continue;
      std::string changed = input;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ (1U << (i % 8U)));
      EXPECT_EQ(replay(changed), 0);
    }
    ++inputs;
  }
  EXPECT_GE(inputs, 4);
}

TEST(AP_FUZZ_TARGET, TakesAnEmptyInput) { EXPECT_EQ(LLVMFuzzerTestOneInput(nullptr, 0), 0); }

}  // namespace
}  // namespace attention_plasticity
