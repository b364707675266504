// Dumps that are not quite dumps: what the program calls them.

#include <algorithm>
#include <functional>

#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

const std::string left_out =
    " left out: a head is a folder named like l00h00q, with two digits or more for numbers from 0 to 9999, that holds "
    "data.parquet, not compressed\n";

class ProgramOddDump : public ProgramTest {
 protected:
  /// A copy of the suite's dump, to be spoilt.
  fs::path copy() const {
    fs::copy(dump(), here_ / "dump", fs::copy_options::recursive);
    return here_ / "dump";
  }

  /// A folder with every head of the suite's dump under another name.
  fs::path renamed(const std::function<fs::path(const std::string& head)>& file) const {
    fs::create_directories(here_ / "odd");
    for (const std::string& name : names_in(dump())) {
      if (!fs::is_directory(dump() / name)) continue;
      const fs::path target = here_ / "odd" / file(name);
      fs::create_directories(target.parent_path());
      fs::copy_file(dump() / name / "data.parquet", target);
    }
    return here_ / "odd";
  }

  /// What `analyze` and `inspect` say about a folder without heads, apart from its name.
  std::string complaint(const fs::path& folder) const {
    const std::string start = "attention-plasticity: " + folder.string() + ": holds no heads (folders named like " +
                              "l00h00q with a data.parquet); ";
    const Outcome analyzed = run(analyze_words(folder, {"--quiet"}));
    EXPECT_EQ(analyzed.code, 3);
    EXPECT_EQ(run({"inspect", folder.string()}).err, analyzed.err);
    EXPECT_TRUE(analyzed.err.starts_with(start)) << analyzed.err;
    return analyzed.err.substr(std::min(start.size(), analyzed.err.size()));
  }
};

TEST_F(ProgramOddDump, NamesFoldersWithTooFewDigits) {
  const auto short_name = [](std::string head) {
    std::erase(head, '0');  // l00h01q: lh1q
    head.insert(1, head[1] == 'h' ? "0" : "");
    const std::size_t h = head.find('h');
    head.insert(h + 1, head[h + 1] == 'q' || head[h + 1] == 'k' ? "0" : "");
    return fs::path(head) / "data.parquet";
  };
  EXPECT_EQ(complaint(renamed(short_name)), "l0h0k and 11 more are" + left_out);
}

TEST_F(ProgramOddDump, NamesCompressedFiles) {
  EXPECT_EQ(complaint(renamed([](const std::string& head) { return fs::path(head) / "data.parquet.gz"; })),
            "l00h00k/data.parquet.gz and 11 more are" + left_out);
}

TEST_F(ProgramOddDump, NamesAFlatFolderOfParquetFiles) {
  EXPECT_EQ(complaint(renamed([](const std::string& head) { return fs::path(head + ".parquet"); })),
            "l00h00k.parquet and 11 more are" + left_out);
}

TEST_F(ProgramOddDump, WarnsOfHeadsThatAreLeftOutEvenIfQuiet) {
  const fs::path folder = copy();
  fs::create_directories(folder / "l2h0q");
  fs::copy_file(folder / "l00h00q" / "data.parquet", folder / "l2h0q" / "data.parquet");
  const std::string expected = "warning: l2h0q is" + left_out;
  EXPECT_EQ(run(analyze_words(folder, {"--quiet"})).err, expected);
  const Outcome inspected = run({"inspect", folder.string()});
  EXPECT_EQ(inspected.code, 0);
  EXPECT_EQ(inspected.err, expected);
}

TEST_F(ProgramOddDump, NamesGzipInDisguise) {
  const fs::path folder = copy();
  const fs::path file = folder / "l00h00q" / "data.parquet";
  write_bytes(file, "\x1f\x8b\x08 anything");
  const Outcome outcome = run(analyze_words(folder, {"--quiet"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find(file.string() + ": this is a file compressed by gzip, not a Parquet file; decompress it "
                                             "with gunzip, and name what comes out data.parquet\n"),
            std::string::npos)
      << outcome.err;
}

TEST_F(ProgramOddDump, NamesATildeThatNoShellHasExpanded) {
  const std::string problem =
      " begins with ~, which only a shell expands; write the whole path, such as /home/me/dump\n";
  write_bytes(here_ / "run.yaml", "seed: 1\ndataset_local_root: ~/dumps/qwen\n");
  const Outcome yaml = run({"analyze", "--config", "run.yaml"});
  EXPECT_EQ(yaml.code, 2);
  EXPECT_EQ(yaml.err, "attention-plasticity: run.yaml:2: dataset_local_root: ~/dumps/qwen" + problem);
  EXPECT_EQ(run({"analyze", "--dataset_local_root=~/dumps"}).err,
            "attention-plasticity: --dataset_local_root: ~/dumps" + problem);
  EXPECT_EQ(run({"report", "out", "-o", "~/x.html"}).err, "attention-plasticity: -o: ~/x.html" + problem);
  EXPECT_EQ(run({"inspect", "~/dump"}).err,
            "attention-plasticity: ~/dump: there is no such folder; ~ is expanded by a shell only, and not between "
            "quotes\n");
}

}  // namespace
}  // namespace attention_plasticity
