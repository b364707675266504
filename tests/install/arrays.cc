// One head, from arrays that this program owns. The library must not copy the vectors: no allocation is as large.

#include <attention_plasticity/analyze_head.h>
#include <attention_plasticity/error.h>
#include <attention_plasticity/memory.h>
#include <attention_plasticity/version.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>

namespace ap = attention_plasticity;

static std::size_t largest_allocation = 0;

static void* counted(std::size_t bytes, std::size_t alignment) {
  largest_allocation = std::max(largest_allocation, bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* operator new(std::size_t bytes) { return counted(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return counted(bytes, std::size_t(alignment)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }

int main() {
  constexpr std::size_t rows = 20'000, width = 64;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> queries(rows * width), keys(rows * width);
  std::vector<std::int64_t> bucket(rows);
  std::vector<std::uint64_t> example(rows);
  std::vector<double> position(rows);
  for (float& x : queries) x = normal(random) + 0.5F;
  for (float& x : keys) x = normal(random);
  for (std::size_t i = 0; i < rows; ++i) {
    example[i] = i / 1000;
    position[i] = static_cast<double>(i % 1000);
    bucket[i] = static_cast<std::int64_t>(i % 1000 / 100);
  }
  const auto view = [&](const std::vector<float>& vectors) {
    return ap::RowsView{.width = width, .bucket = bucket, .example = example, .position = position, .vectors = vectors};
  };
  const ap::LayerRotation layer = ap::ModelRotation::of_settings({.theta = 1e4}).layer(0, width);

  largest_allocation = 0;
  const ap::HeadResult result = ap::analyze_head({0, 0, 0}, view(queries), view(keys), {}, &layer.rotation);
  std::printf("%s: plasticity %.4f +- %.4f, exact %.4f +- %.4f; largest allocation %zu of %zu bytes\n",
              ap::program_version().version.c_str(), result.plasticity.overall, result.plasticity_error,
              result.exact->overall, result.exact_error, largest_allocation, sizeof(float) * queries.size());
  ap::release_kept_memory();
  try {
    ap::analyze_head({}, {}, {});
  } catch (const ap::Error& error) {  // thrown by the library, caught here
    if (largest_allocation < sizeof(float) * queries.size() && error.kind() == ap::ErrorKind::input) return 0;
  }
  return 1;
}
