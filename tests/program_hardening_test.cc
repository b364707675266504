// How the program was compiled and linked: errors in it are hard to use.

#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

class ProgramHardening : public ProgramTest {
 protected:
  /// What readelf says about the program.
  static std::string readelf(const std::string& flag) {
    Surroundings surroundings;
    surroundings.folder = "/";
    surroundings.program = "/usr/bin/readelf";
    const Outcome outcome = run_program({"-W", flag, built_program()}, surroundings);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }

  static std::string line_with(const std::string& text, const std::string& words) {
    for (const std::string& line : lines_of(text)) {
      if (line.find(words) != std::string::npos) return line;
    }
    return "";
  }
};

TEST_F(ProgramHardening, OfTheRelease) {
  const std::string header = readelf("--file-header");
  EXPECT_NE(line_with(header, "Type:").find("DYN (Position-Independent Executable file)"), std::string::npos) << header;
  const std::string segments = readelf("--segments");
  EXPECT_NE(line_with(segments, "GNU_RELRO"), "") << "tables of addresses become read-only";
  EXPECT_EQ(line_with(segments, "GNU_STACK").find("RWE"), std::string::npos) << "the stack is not executed";
  EXPECT_NE(line_with(segments, "GNU_STACK"), "");
  const std::string dynamic = readelf("--dynamic");
  EXPECT_NE(dynamic.find("BIND_NOW"), std::string::npos) << "all of them, before main()";
  const std::string symbols = readelf("--dyn-syms");
  EXPECT_NE(symbols.find("__stack_chk_fail"), std::string::npos) << "return addresses are guarded";
  EXPECT_NE(symbols.find("_chk@"), std::string::npos) << "calls of the C library know their buffers";
}

}  // namespace
}  // namespace attention_plasticity
