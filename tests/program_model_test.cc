// capture, study and evaluate: the program reads their flags, and Python does the rest.

#include <gtest/gtest.h>

#include "program_support.h"

namespace attention_plasticity {
namespace {

class ProgramModel : public ProgramTest {
 protected:
  /// What the program would start Python with.
  std::string handed_over(const std::vector<std::string>& arguments) const {
    Surroundings surroundings;
    surroundings.environment = {"ATTENTION_PLASTICITY_PYTHON=/bin/echo"};
    const Outcome outcome = run(arguments, surroundings);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return first_line(outcome.out);
  }
};

TEST_F(ProgramModel, WithoutThePythonPackageItSaysWhatToInstall) {
  for (const std::string command : {"capture", "study"}) {
    const Outcome outcome = run({command, "--model", "org/name", "--texts", "sample", "-o", "out"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(first_line(outcome.err), "attention-plasticity: " + command +
                                           " runs a model, which takes the Python package: pip install "
                                           "'attention-plasticity[capture]', and start the attention-plasticity that "
                                           "comes with it");
  }
  EXPECT_EQ(run({"evaluate", "--model", "org/name", "--texts", "sample", "--plan", "plan.json"}).code, 2);
}

// The program of the tests has no libllama; tests/llama runs one that has.
TEST_F(ProgramModel, WithoutLibllamaAGgufFileTakesEitherWay) {
  const std::string package =
      "pip install 'attention-plasticity[capture]', and start the attention-plasticity that comes with it";
  for (const std::string command : {"capture", "study"}) {
    const Outcome outcome = run({command, "--model", "model.gguf", "--texts", "sample", "-o", "out"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(first_line(outcome.err), "attention-plasticity: " + command +
                                           " of a GGUF file takes a program with libllama, which `make capture` "
                                           "builds, or the Python package: " +
                                           package);
  }
  const Outcome outcome = run({"evaluate", "--model", "m.gguf", "--texts", "sample", "--plan", "plan.json"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(first_line(outcome.err),
            "attention-plasticity: evaluate hides keys from single KV heads, which libllama cannot do; it takes the "
            "Python package: " +
                package);
  EXPECT_EQ(handed_over({"capture", "--model", "m.gguf", "--texts", "t", "--backend", "transformers", "-o", "o"}),
            "-m attention_plasticity._transformers capture model=m.gguf texts=t output=o");
}

TEST_F(ProgramModel, ValuesAreHandedOverAsWords) {
  EXPECT_EQ(handed_over({"capture", "--model", "org/name", "--texts", "a b.jsonl", "-o", "out"}),
            "-m attention_plasticity._transformers capture model=org/name texts=a b.jsonl output=out");
  EXPECT_EQ(handed_over({"study", "--texts=t=1.txt", "--model", "m", "--batch-size", "4", "--layers", "0-2,5",
                         "--long_texts", "chunk", "--bucket_size", "64", "--quiet", "--max_length", "1024", "-o", "o"}),
            "-m attention_plasticity._transformers study model=m texts=t=1.txt long_texts=chunk batch_size:=4 "
            "bucket_size:=64 layers:=[0, 1, 2, 5] max_length:=1024 output=o quiet:=true");
  EXPECT_EQ(handed_over({"evaluate", "--model", "m", "--texts", "t.txt", "--results", "r", "--rankings",
                         "ap_exact,random", "--sinks", "0"}),
            "-m attention_plasticity._transformers evaluate model=m texts=t.txt results=r rankings=ap_exact,random "
            "sinks:=0");
}

TEST_F(ProgramModel, NullAndDefaultsAreNotHandedOver) {
  EXPECT_EQ(handed_over({"capture", "--model", "m", "--texts", "t", "--device", "cpu", "--device", "null", "-o", "o"}),
            "-m attention_plasticity._transformers capture model=m texts=t output=o");
}

TEST_F(ProgramModel, WrongFlagsEndBeforePythonStarts) {
  const auto complaint = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    return first_line(outcome.err).substr(std::string("attention-plasticity: ").size());
  };
  EXPECT_EQ(complaint({"capture"}), "capture needs --model: the name of a model on the Hub, a folder, or a GGUF file");
  EXPECT_EQ(complaint({"study", "--model", "m"}), "study needs --texts: a file or folder of texts, or the word sample");
  EXPECT_EQ(complaint({"capture", "--model", "m", "--texts", "t"}), "capture needs --output: the folder to write to");
  EXPECT_EQ(complaint({"evaluate", "--model", "m", "--texts", "t"}),
            "evaluate needs --plan, a plan to price, or --results, a run whose columns rank heads");
  EXPECT_EQ(complaint({"capture", "m"}), "m: capture takes flags only");
  EXPECT_EQ(complaint({"capture", "--model", "m", "--texts", "t", "-o", "o", "--backend", "llama"}),
            "this program was built without libllama; `make capture` builds it in");
  EXPECT_EQ(complaint({"study", "--model", "m", "--texts", "t", "-o", "o", "--exact"}),
            "--exact is for a GGUF file that libllama runs, not for models of transformers");
  EXPECT_NE(complaint({"capture", "--modle", "m"}).find("did you mean --model?"), std::string::npos);
  EXPECT_NE(complaint({"capture", "--model", "m", "--texts", "t", "-o", "o", "--bucket_size", "0"}).find("bucket_size"),
            std::string::npos);
}

TEST_F(ProgramModel, AnInterpreterThatIsGoneIsNamed) {
  Surroundings surroundings;
  surroundings.environment = {"ATTENTION_PLASTICITY_PYTHON=/nowhere/python"};
  const Outcome outcome = run({"capture", "--model", "m", "--texts", "t", "-o", "o"}, surroundings);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(first_line(outcome.err),
            "attention-plasticity: /nowhere/python: cannot be started: No such file or directory");
}

}  // namespace
}  // namespace attention_plasticity
