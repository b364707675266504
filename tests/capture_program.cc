// A capture as a source of queries and keys makes it, for tests that end it early: FOLDER DOCUMENTS [(overwrite|keep)
// SEED [COMPONENTS]]. Prints how many documents were there already, and at the end the largest memory in KiB. Exit
// codes are those of Error.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "attention_plasticity/capture/dump_writer.h"
#include "attention_plasticity/capture/small_capture_testing.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

void capture(const std::vector<std::string>& arguments) {
  CaptureSettings settings = small_settings();
  settings.overwrite = arguments.size() > 2 && arguments[2] == "overwrite";
  if (arguments.size() > 3) settings.seed = std::stoull(arguments[3]);
  CapturedModel model = small_model();
  if (arguments.size() > 4) {
    model.config.clear();
    for (CapturedLayer& layer : model.layers) layer.width = std::stoul(arguments[4]);
  }
  DumpWriter writer(arguments.at(0), settings, model, "texts");
  const std::vector<std::uint64_t> finished = writer.finished();
  fmt::print("{}\n", finished.size());
  std::fflush(stdout);
  const std::uint64_t documents = writer.is_complete() ? 0 : std::stoull(arguments.at(1));
  for (std::uint64_t document = 0; document < documents; ++document) {
    if (!std::ranges::binary_search(finished, document)) add_document(writer, settings, model, document);
  }
  writer.finish({{"head_labels.csv", "layer,q_head,x\n0,0,1\n"}});
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("{}\n", usage.ru_maxrss);
}

}  // namespace
}  // namespace attention_plasticity

int main(int count, char** words) {
  try {
    attention_plasticity::capture({words + 1, words + count});
  } catch (const attention_plasticity::Error& error) {
    fmt::print(stderr, "{}: {}\n", error.file(), error.what());
    return attention_plasticity::exit_code(error.kind());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
