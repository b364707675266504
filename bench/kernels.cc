// Google Benchmark over the kernels, at the sizes of a usual and of a wide head: kernels [--benchmark_filter=...]

#include <benchmark/benchmark.h>

#include <string>

#include "kernel_table.h"

namespace {

void register_kernels(std::size_t rows, std::size_t dim) {
  for (Kernel& kernel : kernel_table(rows, dim)) {
    const std::string name = kernel.name + "/" + std::to_string(rows) + "x" + std::to_string(dim);
    benchmark::RegisterBenchmark(name.c_str(), [run = std::move(kernel.run)](benchmark::State& state) {
      for (auto _ : state) benchmark::DoNotOptimize(run());
    })->Unit(benchmark::kMillisecond);
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  register_kernels(28000, 64);
  register_kernels(50000, 128);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
