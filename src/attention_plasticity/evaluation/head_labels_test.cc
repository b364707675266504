#include "attention_plasticity/evaluation/head_labels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attention_plasticity/base/refusal_testing.h"
#include "places.h"

namespace attention_plasticity {
namespace {

using Heads = std::vector<LabelledHead>;
using Values = std::vector<double>;

std::string refused(const std::string& text) {
  return refusal([&] { parse_head_labels(text, "l"); });
}

TEST(HeadLabels, AreReadFromCsv) {
  const HeadLabels labels = parse_head_labels("layer,q_head,induction,self\n1,0,0.5,\n0,2,0.25,1\n", "l");
  EXPECT_FALSE(labels.of_kv_heads);
  EXPECT_EQ(labels.heads, (Heads{{0, 2}, {1, 0}}));
  ASSERT_EQ(labels.labels.size(), 2U);
  EXPECT_EQ(labels.labels[0].name, "induction");
  EXPECT_EQ(labels.labels[0].values, (Values{0.25, 0.5}));
  EXPECT_TRUE(std::isnan(labels.labels[1].values[1]));
  EXPECT_TRUE(labels.notes.empty());
}

TEST(HeadLabels, InTheExamplesAreReadWhole) {
  const HeadLabels labels = read_head_labels(source_folder() / "examples/smollm2-135m/head_labels.csv");
  EXPECT_EQ(labels.heads.size(), 270U);
  EXPECT_EQ(labels.labels.size(), 7U);
  EXPECT_EQ(std::ranges::count_if(labels.labels[0].values, [](double value) { return value > 0.1; }), 15);
}

TEST(HeadLabels, MayNameTheQueryHeadColumnHead) {
  EXPECT_FALSE(parse_head_labels("layer,head,x\n0,3,1\n", "l").of_kv_heads);
  EXPECT_EQ(parse_head_labels("layer,head,x\n0,3,1\n", "l").heads, (Heads{{0, 3}}));
}

TEST(HeadLabels, MayBelongToKvHeads) {
  const HeadLabels labels = parse_head_labels("k_head,layer,x\n2,0,1\n", "l");
  EXPECT_TRUE(labels.of_kv_heads);
  EXPECT_EQ(labels.heads, (Heads{{0, 2}}));
  // With both columns the heads are query heads, and neither column is a label.
  const HeadLabels both = parse_head_labels("layer,k_head,q_head,x\n0,1,4,1\n", "l");
  EXPECT_FALSE(both.of_kv_heads);
  EXPECT_EQ(both.heads, (Heads{{0, 4}}));
  EXPECT_EQ(both.labels.size(), 1U);
}

TEST(HeadLabels, LeaveOutColumnsOfTextWithANote) {
  const HeadLabels labels = parse_head_labels(",layer,q_head,role,x\n0,0,0,induction,1\n", "l");
  ASSERT_EQ(labels.labels.size(), 1U);
  EXPECT_EQ(labels.labels[0].name, "x");
  EXPECT_EQ(labels.notes, (std::vector<std::string>{"l: left out as a label: line 2, column 'role': 'induction' is not "
                                                    "a finite number"}));
}

TEST(HeadLabels, SumUpTheNotesOfManyColumnsOfText) {
  std::string header = "layer,q_head,x";
  std::string row = "0,0,1";
  for (int i = 0; i < 20; ++i) {
    header += ",role" + std::to_string(i);
    row += ",copy";
  }
  const HeadLabels labels = parse_head_labels(header + "\n" + row + "\n", "l");
  EXPECT_EQ(labels.labels.size(), 1U);
  ASSERT_EQ(labels.notes.size(), 6U);
  EXPECT_EQ(labels.notes[4], "l: left out as a label: line 2, column 'role4': 'copy' is not a finite number");
  EXPECT_EQ(labels.notes[5], "l: 15 more columns are left out as labels: not all of their fields are numbers");
}

TEST(HeadLabels, AreAtMostAThousand) {
  std::string header = "layer,q_head";
  std::string row = "0,0";
  for (int i = 0; i < 1000; ++i) {
    header += ",c" + std::to_string(i);
    row += ",1";
  }
  EXPECT_EQ(parse_head_labels(header + "\n" + row + "\n", "l").labels.size(), 1000U);
  EXPECT_EQ(refused(header + ",d\n" + row + ",1\n"),
            "input: l: has 1001 columns of labels, and at most 1000 are read; leave out columns");
}

TEST(HeadLabels, AreReadFromAMatrixOfKvHeads) {
  const HeadLabels labels = parse_head_labels("# scores\n1.0e+00\t0.25\r\n\n0\tnan\n", "l");
  EXPECT_TRUE(labels.of_kv_heads);
  EXPECT_EQ(labels.heads, (Heads{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  ASSERT_EQ(labels.labels.size(), 1U);
  EXPECT_EQ(labels.labels[0].name, "score");
  EXPECT_EQ(labels.labels[0].values[1], 0.25);
  EXPECT_TRUE(std::isnan(labels.labels[0].values[3]));
}

TEST(HeadLabels, ForOneKvHeadAreAColumnOfNumbers) {
  EXPECT_EQ(parse_head_labels("0.5\n1\n", "l").heads, (Heads{{0, 0}, {1, 0}}));
}

TEST(HeadLabels, AreReadFromAScoreObject) {
  const HeadLabels labels = parse_head_labels(R"({"10-2": [0.5, 1, 0.0], "9-11": [0.25]})", "l");
  EXPECT_FALSE(labels.of_kv_heads);
  EXPECT_EQ(labels.heads, (Heads{{9, 11}, {10, 2}}));
  EXPECT_EQ(labels.labels[0].name, "score");
  EXPECT_EQ(labels.labels[0].values, (Values{0.25, 0.5}));
}

TEST(HeadLabels, RefuseOtherTextAndNameTheLine) {
  EXPECT_EQ(refused(" \n"), "input: l: is empty; it should hold labels of heads");
  EXPECT_EQ(refused("name,x\na,1\n"),
            "input: l: has no column layer; labels are a CSV with layer and q_head (or k_head), a matrix of numbers "
            "between tabs, or a JSON object of \"layer-head\": [scores]");
  EXPECT_TRUE(refused("layer,x\n0,1\n").starts_with("input: l: has no column q_head or k_head; "));
  EXPECT_EQ(refused("layer,q_head,x\n"), "input: l: has a header and no heads");
  EXPECT_EQ(refused("layer,q_head,x\n0,0,1\n0,0,2\n"), "input: l: lines 2 and 3: layer 0, q_head 0 has two rows");
  EXPECT_EQ(refused("layer,q_head,role\n0,0,a\n"), "input: l: has no column of numbers beside layer and head");
  EXPECT_EQ(refused("layer,q_head,x\n0,0\n"), "input: l: line 2: 2 fields where the header has 3");
}

TEST(HeadLabels, RefuseABrokenMatrixAndNameTheLine) {
  EXPECT_EQ(refused("1\t2\n1\n"), "input: l: line 2: 1 KV heads where the lines before have 2");
  EXPECT_EQ(refused("#\n1\t2\n1\tx\n"), "input: l: line 3: 'x' is not a finite number");
  EXPECT_EQ(refused("1\t2\n1\t\n"), "input: l: line 2: '' is not a finite number");
}

TEST(HeadLabels, RefuseABrokenObjectAndNameTheKey) {
  EXPECT_EQ(refused("{}"), "input: l: is an object without heads");
  EXPECT_EQ(refused("[[1, 2]]"), "input: l: is a list of 1; a JSON object is expected");
  EXPECT_EQ(refused("{\"0-1\": [1],\n\"0-2\": [NaN]}"), "input: l: line 2: is not valid JSON");
  for (const std::string key : {"3", "a-1", "1-", "-1-2", "1-2-3", "1--2", "1-10000", "1- 2", "99999999999-1"}) {
    EXPECT_EQ(refused("{\"" + key + "\": [1]}"),
              "input: l: '" + key + "': keys should be layer and head, such as 12-3");
  }
  for (const std::string value : {"[]", "1", "[\"x\"]", "null", "{\"a\": 1}"}) {
    EXPECT_EQ(refused("{\"1-2\": " + value + "}"), "input: l: '1-2': should hold a list of numbers, at least one");
  }
  EXPECT_EQ(refused(R"({"1-2": [1], "1-2": [2]})"), "input: l: holds the key '1-2' twice");
  EXPECT_EQ(refused(R"({"1-2": [1], "01-2": [2]})"), "input: l: layer 1, head 2 occurs twice");
  EXPECT_EQ(refused(R"({"1-2": [1e999]})"), "input: l: holds a number that is too large");
}

}  // namespace
}  // namespace attention_plasticity
