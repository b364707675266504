#include "attention_plasticity/results/head_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"

namespace attention_plasticity {
namespace {

HeadMetrics metrics(const std::string& text) { return HeadMetrics(parse_csv(text, "m.csv")); }

TEST(HeadMetrics, AreSortedByHead) {
  const HeadMetrics heads = metrics("layer,q_head,k_head,ap_exact\n1,0,0,0.3\n0,3,1,0.2\n0,2,1,\n");
  EXPECT_EQ(heads.heads(), (std::vector<HeadId>{{0, 2, 1}, {0, 3, 1}, {1, 0, 0}}));
  const std::vector<double> values = heads.values("ap_exact");
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], 0.2);
  EXPECT_EQ(values[2], 0.3);
}

TEST(HeadMetrics, KnowTheirMeasures) {
  const HeadMetrics heads = metrics(",k_head,a,layer,b,q_head\n0,0,1,0,2,0\n");
  EXPECT_EQ(heads.measures(), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_TRUE(heads.has("a"));
  EXPECT_FALSE(heads.has("layer"));
}

TEST(HeadMetrics, RefuseTablesThatDoNotListHeads) {
  const auto refused = [](const std::string& text) { return refusal([&] { metrics(text); }); };
  EXPECT_EQ(refused("layer,q_head,x\n0,0,1\n"),
            "input: m.csv: has no column k_head; metrics are what `attention-plasticity analyze` writes to "
            "head_metrics.csv");
  EXPECT_EQ(refused("layer,q_head,k_head\n"), "input: m.csv: has a header and no heads");
  EXPECT_EQ(refused("layer,q_head,k_head\n0,1,0\n0,0,0\n0,1,0\n"),
            "input: m.csv: lines 2 and 4: layer 0, q_head 1 has two rows");
  EXPECT_EQ(refused("layer,q_head,k_head\n0,one,0\n"),
            "input: m.csv: line 2, column 'q_head': 'one' is not a whole number from 0 to 9999");
}

TEST(HeadMetrics, NameTheNearestColumn) {
  const HeadMetrics heads = metrics("layer,q_head,k_head,ap_exact,word\n0,0,0,1,x\n");
  EXPECT_EQ(refusal([&] { heads.values("ap_exakt"); }),
            "usage: m.csv has no column 'ap_exakt'; did you mean ap_exact?");
  EXPECT_EQ(refusal([&] { heads.values("something"); }), "usage: m.csv has no column 'something'");
  EXPECT_EQ(refusal([&] { heads.values("word"); }), "input: m.csv: line 2, column 'word': 'x' is not a finite number");
}

TEST(HeadMetrics, AreFoundInTheFolderOfARun) {
  const TemporaryFolder folder;
  std::ofstream(folder / "head_metrics.csv") << "layer,q_head,k_head\n0,0,0\n";
  EXPECT_EQ(read_head_metrics(ResultFiles(folder.path())).heads().size(), 1U);
  EXPECT_EQ(read_head_metrics(ResultFiles(folder / "head_metrics.csv")).file(), (folder / "head_metrics.csv").string());
}

}  // namespace
}  // namespace attention_plasticity
