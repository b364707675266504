#include "attention_plasticity/cli/engine_process.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace attention_plasticity {
namespace {

// Tells two notes for the first run that it is asked for, and then waits for its end.
constexpr const char* two_notes =
    "printf '{\"told\": \"ready\"}\\n'; read request; "
    "printf '{\"told\": \"note\", \"line\": \"one\"}\\n{\"told\": \"note\", \"line\": \"two\"}\\n{\"told\": "
    "\"done\"}\\n'; "
    "cat > /dev/null";

TEST(EngineProcess, ARunDoesNotTakeWhatIsLeftOfAnEarlierOne) {
  EngineProcess engine({"/bin/sh", "-c", two_notes}, {});
  const EngineWork work{"{}", {{{{0, 0, 0}}, 1}}, {}};
  std::vector<std::string> notes;
  EngineReceiver receiver;
  receiver.note = [&](const std::string& line) {
    notes.push_back(line);
    throw std::runtime_error("the disk is full");
  };
  EXPECT_THROW(engine.measure(work, receiver, {}), std::runtime_error);
  receiver.note = [&](const std::string& line) { notes.push_back(line); };
  engine.measure(work, receiver, {});
  EXPECT_EQ(notes, (std::vector<std::string>{"one", "one", "two"}));
}

}  // namespace
}  // namespace attention_plasticity
