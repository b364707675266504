// Where the program takes a model's rotation from, what it says without one, and the heads that it shows at the end.

#include "attention_plasticity/base/text_testing.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr const char* llama = R"({"model_type": "llama", "head_dim": 8, "rope_theta": 1e4})";

class ProgramRotation : public ProgramTest {
 protected:
  /// A copy of the dump with another config.json; empty: without config.json.
  fs::path dump_with(const std::string& config) const {
    const fs::path copy = here_ / "dump";
    fs::remove_all(copy);
    fs::copy(dump(), copy, fs::copy_options::recursive);
    fs::remove(copy / "config.json");
    if (!config.empty()) write_bytes(copy / "config.json", config);
    return copy;
  }

  /// The message about a rotation that cannot be used.
  std::string complaint(const fs::path& dump, const std::vector<std::string>& flags = {}) const {
    const Outcome outcome = run(analyze_words(dump, flags));
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(lines_of(outcome.err).size(), 1U) << outcome.err;
    EXPECT_FALSE(fs::exists(here_ / "head_metrics.csv"));
    return outcome.err;
  }

  bool has_exact() const {
    return first_line(read_bytes(here_ / "head_metrics.csv")).find(",ap_exact,") != std::string::npos;
  }
};

TEST_F(ProgramRotation, OneLineSaysWhatToPassWhenItIsNotKnown) {
  const Outcome outcome =
      run(analyze_words(dump_with(""), {"--num_q_heads", "4", "--num_k_heads", "2", "--vectors", "pre"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto lines = lines_starting(outcome.err, "position-exact plasticity is left out");
  ASSERT_EQ(lines.size(), 1U) << outcome.err;
  expect_parts(lines[0], {"--rope_config", "--rope_theta", "captured before it do not show it"});
  EXPECT_FALSE(has_exact());
  EXPECT_FALSE(fs::exists(here_ / "head_distance_plasticity.csv"));
  EXPECT_EQ(lines_starting(outcome.out, "Plasticity of the model: 0.").size(), 1U) << outcome.out;
}

TEST_F(ProgramRotation, ComesFromTheDumpAFileSettingsOrNone) {
  write_bytes(here_ / "model.json", llama);
  const std::string scaling = R"({"rope_type": "linear", "factor": 2})";
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--rope_config", "model.json"},
                                                {"--rope_theta", "1e4"},
                                                {"--rope-theta", "1e4", "--rope-scaling", scaling},
                                                {"--rope", "none"}}) {
    const Outcome outcome = run(analyze_words(dump_with(""), flags));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(has_exact()) << flags[0];
    fs::remove(here_ / "head_metrics.csv");
  }
  EXPECT_EQ(run(analyze_words(dump_with(llama), {})).code, 0);
  EXPECT_TRUE(has_exact());
}

TEST_F(ProgramRotation, PythonCompatLeavesItOutSilently) {
  const Outcome outcome = run(analyze_words(dump_with(R"({"rope_scaling": {"type": "odd"}})"), {"--compat", "python"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("position-exact"), std::string::npos) << outcome.err;
  EXPECT_FALSE(has_exact());
}

TEST_F(ProgramRotation, ThatCannotBeUsedIsWrongUse) {
  const fs::path odd =
      dump_with(R"({"model_type": "llama", "head_dim": 8, "rope_theta": 1e4, "rope_scaling": {"type": "odd"}})");
  expect_parts(complaint(odd), {(odd / "config.json").string(), "odd", "--num_triples 0"});
  expect_parts(complaint(dump_with(R"({"model_type": "llama", "head_dim": 64, "rope_theta": 1e4})")), {"8", "64"});
  expect_parts(complaint(dump(), {"--rope_config", "none.json"}), {"none.json", "rope_config", "no such file"});
  expect_parts(complaint(dump(), {"--rope_theta", "1e4", "--rope_dim", "10"}), {"10", "8"});
  expect_parts(complaint(dump(), {"--rope_dim", "4"}), {"rope_theta"});
  expect_parts(complaint(dump(), {"--rope_theta", "1e4", "--rope_scaling",
                                  R"({"rope_type": "dynamic", "factor": 2, "max_position_embeddings": 16})"}),
               {"dynamic", "16"});
}

TEST_F(ProgramRotation, ThatCannotBeUsedDoesNotMatterWhenPositionExactPlasticityIsOff) {
  const fs::path odd = dump_with(R"({"model_type": "llama", "rope_theta": 1e4, "rope_scaling": {"type": "odd"}})");
  EXPECT_EQ(run(analyze_words(odd, {"--num_triples", "0", "--quiet"})).code, 0);
  EXPECT_FALSE(has_exact());
}

TEST_F(ProgramRotation, DryRunNamesIt) {
  const Outcome outcome = run(analyze_words(dump_with(llama), {"--dry-run"}));
  EXPECT_EQ(lines_starting(outcome.out, "# rotation: default, theta 10000, all 8 components, half").size(), 1U)
      << outcome.out;
}

TEST_F(ProgramRotation, LabelsAreShownBesideTheHeadsAtTheEnd) {
  const fs::path labelled = dump_with(llama);
  write_bytes(labelled / "head_labels.csv", "layer,q_head,induction\n0,0,0.125\n1,3,0.5\n");
  const Outcome found = run(analyze_words(labelled, {}));
  EXPECT_EQ(found.code, 0) << found.err;
  expect_parts(found.out, {"Heads by ap_exact, beside " + (labelled / "head_labels.csv").string() + ":",
                           "layer  q_head  ap_exact       ±  induction", "     0.125\n", "       0.5\n"});

  write_bytes(here_ / "given.json", R"({"0-1": [0.25, 0.75]})");
  const Outcome given = run(analyze_words(labelled, {"--labels", "given.json"}));
  expect_parts(given.out, {"beside given.json:", "  score\n", "    0.5\n"});

  write_bytes(labelled / "head_labels.csv", "nonsense\n");
  const Outcome ignored = run(analyze_words(labelled, {}));
  EXPECT_EQ(ignored.code, 0);
  expect_parts(ignored.err, {"head_labels.csv", ": ignored"});
  EXPECT_EQ(ignored.out.find("beside"), std::string::npos);

  fs::remove(here_ / "head_metrics.csv");
  EXPECT_EQ(run(analyze_words(labelled, {"--labels", (labelled / "head_labels.csv").string()})).code, 3);
  EXPECT_EQ(run(analyze_words(labelled, {"--labels", "none.csv"})).code, 3);
  EXPECT_FALSE(fs::exists(here_ / "head_metrics.csv")) << "the fault must be reported before any head is read";
}

}  // namespace
}  // namespace attention_plasticity
