#include "attention_plasticity/capture/attention_kernel.h"

#include <cmath>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/capture/attention_kernel.cc"
#include "attention_plasticity/base/highway.h"
// After highway.h:
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

// Two vectors of keys by four queries: eight sums, which fit the registers of every target.
void block_logits(const LogitBlock& block, double* HWY_RESTRICT logits, std::size_t stride) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t panel = block.first_panel; panel < block.last_panel; ++panel) {
    for (std::size_t begin = 0; begin < keys_at_once; begin += 2 * lanes) {
      V left[queries_at_once];
      V right[queries_at_once];
      for (std::size_t r = 0; r < queries_at_once; ++r) left[r] = right[r] = hn::Zero(d);
      const double* HWY_RESTRICT keys = block.panels + panel * block.width * keys_at_once + begin;
      const double* HWY_RESTRICT queries = block.queries;
      const std::size_t width = block.width;
      for (std::size_t c = 0; c < width; ++c) {
        const V first = hn::LoadU(d, keys);
        const V second = hn::LoadU(d, keys + lanes);
        for (std::size_t r = 0; r < queries_at_once; ++r) {
          const V query = hn::Set(d, queries[r * width + c]);
          left[r] = hn::MulAdd(query, first, left[r]);
          right[r] = hn::MulAdd(query, second, right[r]);
        }
        keys += keys_at_once;
      }
      for (std::size_t r = 0; r < queries_at_once; ++r) {
        double* out = logits + r * stride + (panel - block.first_panel) * keys_at_once + begin;
        hn::StoreU(left[r], d, out);
        hn::StoreU(right[r], d, out + lanes);
      }
    }
  }
}

HWY_INLINE V capped(V x, double softcap) {
  const D d;
  const V cap = hn::Set(d, softcap);
  return hn::Mul(cap, hn::Tanh(d, hn::Div(x, cap)));
}

double largest(double* HWY_RESTRICT logits, std::size_t count, double softcap, double floor) {
  const D d;
  V top = hn::Set(d, floor);
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= count; j += hn::Lanes(d)) {
    V x = hn::LoadU(d, logits + j);
    if (softcap != 0) {
      x = capped(x, softcap);
      hn::StoreU(x, d, logits + j);
    }
    top = hn::Max(top, x);
  }
  double most = hn::GetLane(hn::MaxOfLanes(d, top));
  for (; j < count; ++j) {
    if (softcap != 0) logits[j] = softcap * std::tanh(logits[j] / softcap);
    most = std::fmax(most, logits[j]);
  }
  return most;
}

void weigh(double* HWY_RESTRICT logits, std::size_t count, double softcap, double floor, WeightedRow* row) {
  const D d;
  row->top = largest(logits, count, softcap, floor);
  const V top = hn::Set(d, row->top);
  V weight = hn::Zero(d);
  V weighted_log = hn::Zero(d);
  V weighted_key = hn::Zero(d);
  V key = hn::Iota(d, 0.0);
  const V step = hn::Set(d, static_cast<double>(hn::Lanes(d)));
  // exp underflows to 0 below; and 0 times the logit is 0 then, not NaN.
  const V lowest = hn::Set(d, -800.0);
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= count; j += hn::Lanes(d)) {
    const V x = hn::Max(hn::Sub(hn::LoadU(d, logits + j), top), lowest);
    const V w = hn::Exp(d, x);
    hn::StoreU(w, d, logits + j);
    weight = hn::Add(weight, w);
    weighted_log = hn::MulAdd(w, x, weighted_log);
    weighted_key = hn::MulAdd(w, key, weighted_key);
    key = hn::Add(key, step);
  }
  row->sums = {hn::GetLane(hn::SumOfLanes(d, weight)), hn::GetLane(hn::SumOfLanes(d, weighted_log)),
               hn::GetLane(hn::SumOfLanes(d, weighted_key))};
  for (; j < count; ++j) {
    const double x = std::fmax(logits[j] - row->top, -800.0);
    logits[j] = std::exp(x);
    row->sums.weight += logits[j];
    row->sums.weighted_log += logits[j] * x;
    row->sums.weighted_key += logits[j] * static_cast<double>(j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(block_logits);
HWY_EXPORT(weigh);

}  // namespace

void logits_of_block(const LogitBlock& block, double* logits, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(block_logits)(block, logits, stride);
}

WeightedRow weigh_logits(std::span<double> logits, double softcap, double floor) {
  WeightedRow row;
  HWY_DYNAMIC_DISPATCH(weigh)(logits.data(), logits.size(), softcap, floor, &row);
  return row;
}

}  // namespace attention_plasticity
#endif
