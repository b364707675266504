// One head from arrays to plasticity, without a file.

#include <attention_plasticity/analysis/head_analysis.h>
#include <attention_plasticity/version.h>
#include <attention_plasticity/random/numpy_generator.h>

#include <cstdio>

namespace ap = attention_plasticity;

static ap::HeadRows rows(ap::NumpyGenerator& generator) {
  ap::HeadRows rows;
  rows.width = 2;
  for (int i = 0; i < 200; ++i) {
    rows.bucket.push_back(i % 4);
    rows.example.push_back(static_cast<std::uint64_t>(i / 20));
    rows.position.push_back(100.0 * (i % 4) + i % 20);
    rows.vectors.push_back(static_cast<float>(generator.random() - 0.5));
    rows.vectors.push_back(static_cast<float>(generator.random()));
  }
  return rows;
}

int main() {
  ap::NumpyGenerator generator(1);
  const ap::HeadRows queries = rows(generator);
  const ap::HeadResult result = ap::analyze_head({0, 0, 0}, queries, rows(generator), ap::AnalysisOptions{});
  std::printf("%s plasticity %.6f +- %.6f\n", ap::program_version().version.c_str(), result.plasticity.overall,
              result.plasticity_error);
  return result.plasticity.overall > 0 && result.plasticity.overall < 1 ? 0 : 1;
}
