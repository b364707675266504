// Figures, which `plot` draws with gnuplot.

#include <png.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>

#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

const std::string sample_results = (source_folder() / "results/smollm2-135m").string();

struct FigureCase {
  const char* figure;
  const char* table;  // the flag that names the table
  const char* label;  // a text in the image
};

constexpr std::array figures{
    FigureCase{"plasticity", "--bucket_csv", "mean of 40 heads"},
    FigureCase{"heatmap", "--bucket_csv", "pooled plasticity, mean of 40 heads"},
    FigureCase{"components", "--component_csv", "share, mean of 40 heads"},
    FigureCase{"distance", "--distance_csv", "position-exact plasticity, mean of 40 heads"},
    FigureCase{"heads", "--metrics", "not measured"},
};

struct Pixels {
  unsigned width = 0;
  unsigned height = 0;
  std::map<unsigned, std::size_t> count_of_color = {};
};

Pixels decoded(const std::string& png) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  Pixels pixels;
  if (png_image_begin_read_from_memory(&image, png.data(), png.size()) == 0) return pixels;
  image.format = PNG_FORMAT_RGB;
  std::vector<unsigned char> bytes(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr) == 0) return pixels;
  for (std::size_t i = 0; i + 2 < bytes.size(); i += 3) {
    ++pixels.count_of_color[(static_cast<unsigned>(bytes[i]) << 16) | (static_cast<unsigned>(bytes[i + 1]) << 8) |
                            bytes[i + 2]];
  }
  pixels.width = image.width;
  pixels.height = image.height;
  return pixels;
}

// Whether every element is closed in the right order, and every < and & begins a tag or an entity.
bool is_well_formed(std::string_view xml) {
  std::vector<std::string> open;
  for (std::size_t at = xml.find_first_of("<&"); at != std::string_view::npos; at = xml.find_first_of("<&", at + 1)) {
    const std::size_t end = xml.find(xml[at] == '<' ? '>' : ';', at);
    if (end == std::string_view::npos) return false;
    const std::string_view tag = xml.substr(at + 1, end - at - 1);
    if (xml[at] == '&' || tag.starts_with('?') || tag.starts_with('!')) continue;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.emplace_back(tag.substr(0, tag.find_first_of(" \t\r\n")));
    }
  }
  return open.empty();
}

std::size_t number_at(std::string_view text, std::size_t at) {
  std::size_t value = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), value);
  return value;
}

// Whether the table at the end gives the right offset of every object.
bool has_right_places(std::string_view pdf) {
  const std::size_t start = pdf.rfind("startxref\n");
  if (start == std::string_view::npos) return false;
  std::size_t at = number_at(pdf, start + 10);
  if (!pdf.substr(at).starts_with("xref\n0 ")) return false;
  const std::size_t objects = number_at(pdf, at + 7);
  at = pdf.find('\n', at + 7) + 1 + 20;  // entry 0 is not an object
  for (std::size_t object = 1; object < objects; ++object, at += 20) {
    const std::size_t place = pdf.find_first_not_of('0', at);
    if (!pdf.substr(number_at(pdf, place)).starts_with(std::to_string(object) + " 0 obj")) return false;
  }
  return objects > 5;
}

class ProgramPlot : public ProgramTest {
 protected:
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}

  Outcome plot(std::vector<std::string> words, const Surroundings& surroundings = {}) const {
    words.insert(words.begin(), "plot");
    return run(words, surroundings);
  }
  /// The image of a figure of the sample results, drawn to `output`.
  std::string drawn(const FigureCase& figure, const std::string& output, std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {figure.figure, figure.table, sample_results, "--output", output});
    const Outcome outcome = plot(flags);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, output + "\n");
    EXPECT_EQ(outcome.err, "");
    return read_bytes(here_ / output);
  }
  /// The message of a failure with this exit code, without the program's name.
  std::string complaint(const std::vector<std::string>& words, int code, const Surroundings& surroundings = {}) const {
    const Outcome outcome = plot(words, surroundings);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    const std::string line = last_line(outcome.err);
    return line.substr(std::min(line.size(), std::string("attention-plasticity: ").size()));
  }
};

TEST_F(ProgramPlot, PngIsDrawnInFullSizeAndNotBlank) {
  for (const FigureCase& figure : figures) {
    const Pixels pixels = decoded(drawn(figure, "a.png", {"--width", "5", "--height", "4", "--dpi", "100"}));
    EXPECT_EQ(pixels.width, 500U) << figure.figure;
    EXPECT_EQ(pixels.height, 400U) << figure.figure;
    EXPECT_GT(pixels.count_of_color.size(), 30U) << figure.figure;
    ASSERT_TRUE(pixels.count_of_color.contains(0xffffff)) << figure.figure;
    EXPECT_LT(pixels.count_of_color.at(0xffffff), 500U * 400U * 97 / 100) << figure.figure;
    EXPECT_TRUE(pixels.count_of_color.contains(0)) << figure.figure << " has no black";
  }
}

TEST_F(ProgramPlot, SvgIsWellFormedWithItsTextAsText) {
  for (const FigureCase& figure : figures) {
    const std::string svg = drawn(figure, "a.svg");
    EXPECT_TRUE(is_well_formed(svg)) << figure.figure;
    EXPECT_NE(svg.find(figure.label), std::string::npos) << figure.figure;
    EXPECT_NE(svg.find("SmolLM2-135M-Instruct"), std::string::npos) << figure.figure;
    EXPECT_NE(svg.find("<path"), std::string::npos) << figure.figure;
    EXPECT_EQ(svg.find("<image"), std::string::npos) << figure.figure;
  }
}

TEST_F(ProgramPlot, PdfHasItsFontsAndTheRightOffsetsOfObjects) {
  for (const FigureCase& figure : figures) {
    const std::string pdf = drawn(figure, "a.pdf");
    EXPECT_TRUE(pdf.starts_with("%PDF-1.")) << figure.figure;
    EXPECT_TRUE(has_right_places(pdf)) << figure.figure;
    EXPECT_NE(pdf.find("/FontFile2"), std::string::npos) << figure.figure;
    EXPECT_NE(pdf.find("/CreationDate (D:20000101000000Z)"), std::string::npos) << figure.figure;
  }
}

TEST_F(ProgramPlot, SameInputGivesTheSameBytes) {
  for (const char* name : {"a.png", "a.svg", "a.pdf"}) {
    const std::string first = drawn(figures[0], name);
    Surroundings elsewhere;
    elsewhere.environment = {"LANG=de_DE.UTF-8", "LC_ALL=de_DE.UTF-8", "GNUTERM=dumb", "TZ=Asia/Tokyo"};
    const std::string other = std::string("other-") + name;
    ASSERT_EQ(plot({"plasticity", "--bucket_csv", sample_results, "--output", other}, elsewhere).code, 0);
    EXPECT_EQ(read_bytes(here_ / other), first) << name;
  }
}

TEST_F(ProgramPlot, ColoursOfTheMapAreThoseAsked) {
  // The least and the largest value have the first and the last colour.
  const Pixels viridis = decoded(drawn(figures[4], "a.png"));
  EXPECT_TRUE(viridis.count_of_color.contains(0x440154));
  EXPECT_TRUE(viridis.count_of_color.contains(0xfde725));
  const Pixels gray = decoded(drawn(figures[4], "a.png", {"--cmap", "gray_r", "--vmin", "2", "--vmax", "3"}));
  EXPECT_FALSE(gray.count_of_color.contains(0x440154));
  EXPECT_GT(gray.count_of_color.at(0xffffff), viridis.count_of_color.at(0xffffff));
}

TEST_F(ProgramPlot, ScreenStyleIsDark) {
  for (const FigureCase& figure : figures) {
    const Pixels pixels = decoded(drawn(figure, "a.png", {"--style", "screen", "--dpi", "50"}));
    EXPECT_GT(pixels.count_of_color.at(0x16191f), pixels.width * pixels.height / 10) << figure.figure;
  }
}

TEST_F(ProgramPlot, LinesHaveTheColoursOfLayersOrTrends) {
  const auto share_of = [&](const std::vector<std::string>& flags, unsigned color) {
    return decoded(drawn(figures[0], "a.png", flags)).count_of_color.contains(color);
  };
  EXPECT_TRUE(share_of({"--alpha", "1", "--line_width", "3"}, 0x4477aa));
  EXPECT_FALSE(share_of({"--alpha", "1", "--color_by_layer"}, 0x4477aa));
  EXPECT_TRUE(share_of({"--alpha", "1", "--line_width", "3", "--color_trend", "--trend_threshold", "1e-9"}, 0x2ca02c));
  EXPECT_FALSE(share_of({"--alpha", "1", "--line_width", "3", "--color_trend", "--trend_threshold", "1"}, 0x2ca02c));
}

TEST_F(ProgramPlot, WithoutAnOutputTheFigureStandsBesideTheTable) {
  fs::copy(sample_results, here_ / "run");
  const std::vector<std::string> before = names_in(here_ / "run");
  const Outcome outcome = plot({"--metrics", "run/head_metrics.csv", "heads"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "run/heads.png\n");
  EXPECT_EQ(decoded(read_bytes(here_ / "run" / "heads.png")).height, 1360U);  // 2 + 30 x 0.16 inches
  EXPECT_EQ(names_in(here_ / "run").size(), before.size() + 1);
}

TEST_F(ProgramPlot, TextFromUsersIsShownAndNeverRun) {
  const std::string hostile = "'\"; `touch a` $HOME @b {c_d} \\\nsystem('touch e') <f>&";
  for (const FigureCase& figure : figures) {
    const std::string svg = drawn(figure, "x'$(touch g).svg", {"--title", hostile});
    EXPECT_TRUE(is_well_formed(svg)) << figure.figure;
    EXPECT_NE(svg.find("'\"; `touch a` $HOME @b {c_d} \\\\nsystem('touch e') &lt;f"), std::string::npos)
        << figure.figure;
  }
  drawn(figures[2], "x'$(touch g).svg", {"--ylabel", hostile});
  EXPECT_EQ(names_in(here_.path()), std::vector<std::string>{"x'$(touch g).svg"});
}

TEST_F(ProgramPlot, TablesOfThePythonToolkitAreDrawn) {
  write_bytes(here_ / "b.csv", "layer,q_head,k_head,q_bucket,k_bucket,ap_bucket\n0,0,0,1,0,0.5\n0,0,0,2,0,0.75\n");
  write_bytes(here_ / "old.csv", "layer,q_head,k_head,bucket,ap_bucket\n0,0,0,1,0.5\n0,0,0,2,0.75\n");
  write_bytes(here_ / "c.csv", "layer,q_head,k_head,component,component_r2,component_weight\n0,0,0,0,1,1\n");
  EXPECT_EQ(plot({"heatmap", "--bucket_csv", "b.csv"}).out, "heatmap.png\n");
  EXPECT_EQ(plot({"plasticity", "--bucket_csv", "old.csv"}).out, "plasticity.png\n");
  EXPECT_EQ(plot({"components", "--component_csv", "c.csv", "--output", "c.pdf"}).out, "c.pdf\n");
}

TEST_F(ProgramPlot, ResultsAreItsArgument) {
  for (const FigureCase& figure : figures) {
    const Outcome outcome = plot({figure.figure, sample_results, "--output", "a.svg"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(read_bytes(here_ / "a.svg"), drawn(figure, "b.svg")) << figure.figure;
  }
  EXPECT_EQ(complaint({"heads", sample_results, "--metrics", sample_results}, 2),
            "the results are given twice: as " + sample_results + " and as --metrics");
}

TEST_F(ProgramPlot, CurvesArePositionExactUnlessPooledIsAskedOrAllThereIs) {
  const std::string exact = drawn(figures[0], "a.svg");
  EXPECT_NE(exact.find("Position-exact plasticity by position of the query"), std::string::npos);
  EXPECT_NE(exact.find("± 1 standard error"), std::string::npos);
  EXPECT_NE(exact.find("40 heads, 5,369 to 11,918 triples in a bucket; errors over documents"), std::string::npos);
  const std::string pooled = drawn(figures[0], "a.svg", {"--pooled"});
  EXPECT_NE(pooled.find("Pooled plasticity by position of the query"), std::string::npos);
  EXPECT_EQ(pooled.find("standard error"), std::string::npos);
  const std::string python = (source_folder() / "tests/golden/minidoc-qwen3/python-compat").string();
  const Outcome outcome = plot({"plasticity", python, "--output", "p.svg"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.err.ends_with(" has no position-exact plasticity; the pooled one is drawn\n")) << outcome.err;
  EXPECT_NE(read_bytes(here_ / "p.svg").find("Pooled plasticity"), std::string::npos);
}

TEST_F(ProgramPlot, LittleDataIsHatchedAndNotTheBrightest) {
  // Two keys at a distance of 3 to 6 tokens: 35 triples, in 17 of 40 heads. Their mean would be the largest of the map.
  const std::string svg = drawn(figures[3], "a.svg");
  EXPECT_NE(svg.find("little data"), std::string::npos);
  EXPECT_NE(svg.find("40 heads, 35 to 7,661 triples in a cell; hatched: triples × share of heads with any &lt; 30"),
            std::string::npos);
  EXPECT_EQ(svg.find(">0.8<"), std::string::npos);
  EXPECT_NE(svg.find(">0.6<"), std::string::npos);
  const std::string all = drawn(figures[3], "a.svg", {"--min_count", "0"});
  EXPECT_EQ(all.find("little data"), std::string::npos);
  EXPECT_NE(all.find(">0.8<"), std::string::npos);
}

TEST_F(ProgramPlot, OneHeadIsOneHead) {
  for (const FigureCase& figure : figures) {
    const std::string svg = drawn(figure, "a.svg", {"--layers", "20", "--heads", "6"});
    EXPECT_NE(svg.find("1 head (layer 20, head 6)"), std::string::npos) << figure.figure;
    EXPECT_EQ(svg.find("1 heads"), std::string::npos) << figure.figure;
    EXPECT_EQ(svg.find(">1.1<"), std::string::npos) << figure.figure;
    EXPECT_EQ(svg.find(">1.2<"), std::string::npos) << figure.figure;
  }
  EXPECT_EQ(complaint({"heads", sample_results, "--layers", "30"}, 2),
            "--layers 30: the layers of " + sample_results + "/head_metrics.csv are 0 to 29");
}

// From the project's folder, after the one command that their comments name.
TEST_F(ProgramPlot, EveryConfigurationInTheTreeDrawsItsFigureAsItStands) {
  for (const char* folder : {"configs", "results", "examples"}) {
    fs::create_directory_symlink(source_folder() / folder, here_ / folder);
  }
  ASSERT_EQ(run({"analyze", "--config", "configs/example-minidoc-qwen3.yaml", "--quiet"}).code, 0);
  std::set<std::string> drawn_ones;
  for (const auto& entry : fs::directory_iterator(here_ / "configs/plots")) {
    const std::string file = "configs/plots/" + entry.path().filename().string();
    const std::string name = entry.path().stem().string();
    const std::string figure = name.substr(name.rfind('-') + 1);
    const Outcome outcome = plot({figure, "--config", file});
    EXPECT_EQ(outcome.code, 0) << file << ": " << outcome.err;
    EXPECT_EQ(outcome.err, "") << file;
    const std::string image = outcome.out.substr(0, outcome.out.find('\n'));
    EXPECT_GT(fs::file_size(here_ / image), 3000U) << file;
    EXPECT_TRUE(drawn_ones.insert(image).second) << file << " overwrites the figure of another file";
  }
  EXPECT_GE(drawn_ones.size(), figures.size());
}

TEST_F(ProgramPlot, FlagsWinOverTheFileAndNullUnsets) {
  write_bytes(here_ / "x.yaml",
              "metrics: " + sample_results + "\noutput: a.svg\ntitle: of the file\nwidth: 4\nheight: 4\n");
  ASSERT_EQ(plot({"heads", "--config", "x.yaml", "--title", "of the flag", "--width", "null"}).code, 0);
  const std::string svg = read_bytes(here_ / "a.svg");
  EXPECT_NE(svg.find("of the flag"), std::string::npos);
  EXPECT_EQ(svg.find("of the file"), std::string::npos);
  EXPECT_NE(svg.find("width=\"492\" height=\"384\""), std::string::npos);  // 2.6 + 9 x 0.28 inches of 96, and 4 of them
}

TEST_F(ProgramPlot, WrongUseIsTwoAndNamesThePlace) {
  const auto complain = [&](const std::vector<std::string>& words) { return complaint(words, 2); };
  const auto map = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"heatmap", "--bucket_csv", sample_results});
    return complaint(flags, 2);
  };
  const std::string usage =
      "plot takes a figure, and the folder of a run or a table of it: plot "
      "plasticity|heatmap|components|distance|heads|changes|change_map|series RESULTS";
  EXPECT_EQ(complain({}), usage);
  EXPECT_EQ(complain({"heads", "x", "y"}), usage);
  EXPECT_EQ(complain({"heatmp"}),
            "heatmp is not one of plasticity, heatmap, components, distance, heads, changes, change_map, series; did "
            "you mean heatmap?");
  EXPECT_EQ(complain({"heads"}),
            "plot heads needs the results of a run: plot heads RESULTS, where RESULTS is the folder that analyze wrote "
            "to");
  EXPECT_EQ(map({"--aplha", "1"}), "--aplha: unknown flag; did you mean --alpha?");
  EXPECT_EQ(map({"--alpha", "1"}), "--alpha: does not apply to plot heatmap; it is for plasticity, series");
  EXPECT_EQ(map({"--cmap", "magmaa"}), "--cmap: 'magmaa' is not a colour map; did you mean magma?");
  EXPECT_EQ(map({"--output", "a.jpg"}),
            "--output: a.jpg should end in .png, .svg or .pdf: the ending says what to draw");
  EXPECT_EQ(map({"--vmin", "1", "--vmax", "0.5"}), "--vmin should be below --vmax: 1 is not below 0.5");
  EXPECT_EQ(map({"--vmin", "low"}), "--vmin: low is not a number");
  EXPECT_EQ(map({"--agg", "sum"}), "--agg: sum is not one of mean, median");
  EXPECT_TRUE(map({"--width", "500"}).starts_with("--width: 500 is out of range"));
  EXPECT_TRUE(map({"--dpi", "0"}).starts_with("--dpi: 0 is out of range"));
  EXPECT_TRUE(map({"--bucket_type", "log", "--bucket_min_size", "1e12"})
                  .ends_with("check --bucket_type and --bucket_min_size"));
  EXPECT_EQ(complain({"plasticity", "--bucket_csv", sample_results, "--color_by_layer", "--color_trend"}),
            "color_by_layer and color_trend exclude each other: a line has one colour");
  EXPECT_TRUE(
      complain({"heads", "--metrics", sample_results, "--column", "ap_exat"}).ends_with("did you mean ap_exact?"));
  write_bytes(here_ / "x.yaml", "# a figure\n\ncmpa: magma\n");
  EXPECT_EQ(map({"--config", "x.yaml"}), "x.yaml:3: cmpa: unknown key; did you mean cmap?");
  write_bytes(here_ / "x.yaml", "limit: 3\n");
  EXPECT_EQ(map({"--config", "x.yaml"}), "x.yaml:1: limit: does not apply to plot heatmap; it is for components");
  write_bytes(here_ / "x.yaml", "vmin: \"0\"\n");
  EXPECT_EQ(map({"--config", "x.yaml"}), "x.yaml:1: vmin: \"0\" is text; write the number without quotes");
}

TEST_F(ProgramPlot, UnusableTablesAreThree) {
  const auto refused = [&](const std::string& text) {
    write_bytes(here_ / "t.csv", text);
    return complaint({"heatmap", "--bucket_csv", "t.csv"}, 3);
  };
  EXPECT_EQ(complaint({"heads", "--metrics", "none.csv"}, 3), "none.csv: there is no such file or folder");
  EXPECT_EQ(refused(""), "t.csv: is empty; a table with a header is needed");
  EXPECT_EQ(refused("layer,q_head,q_bucket,k_bucket,plasticity\n"), "t.csv: has no value of plasticity to draw");
  EXPECT_EQ(refused("layer,q_head,q_bucket,k_bucket,value\n0,0,1,0,1\n"),
            "t.csv: has no column plasticity or ap_bucket; it should be the head_bucket_plasticity.csv of a run");
  EXPECT_EQ(refused("layer,q_head,q_bucket,k_bucket,plasticity\n0,0,1,0,x\n"),
            "t.csv: line 2, column 'plasticity': 'x' is not a finite number");
  EXPECT_EQ(names_in(here_.path()), std::vector<std::string>{"t.csv"});
}

TEST_F(ProgramPlot, OutputThatCannotBeWrittenIsSix) {
  write_bytes(here_ / "file", "old");
  EXPECT_TRUE(
      complaint({"heads", "--metrics", sample_results, "--output", "file/a.png"}, 6).starts_with("file: cannot "));
  Surroundings without_gnuplot;
  without_gnuplot.environment = {"PATH="};
  EXPECT_EQ(complaint({"heads", "--metrics", sample_results, "--output", "a.png"}, 6, without_gnuplot),
            "figures are drawn by gnuplot, which is not installed; on Debian: apt-get install gnuplot-nox");
  EXPECT_EQ(names_in(here_.path()), std::vector<std::string>{"file"});
}

}  // namespace
}  // namespace attention_plasticity
