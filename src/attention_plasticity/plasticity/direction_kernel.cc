#include "attention_plasticity/plasticity/direction_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/plasticity/direction_kernel.cc"
#include "attention_plasticity/base/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

// The sum of of_vector(c) over the whole vectors of a row, and of_value(c) over the components behind them.
template <class OfVector, class OfValue>
HWY_INLINE double sum_row(std::size_t width, const OfVector& of_vector, const OfValue& of_value) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V sum = hn::Zero(d);
  std::size_t c = 0;
  for (; c + lanes <= width; c += lanes) sum = hn::Add(sum, of_vector(c));
  double rest = 0;
  for (; c < width; ++c) rest += of_value(c);
  return hn::GetLane(hn::SumOfLanes(d, sum)) + rest;
}

HWY_INLINE double row_product(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, std::size_t width) {
  const D d;
  return sum_row(
      width, [&](std::size_t c) HWY_ATTR { return hn::Mul(hn::LoadU(d, a + c), hn::LoadU(d, b + c)); },
      [&](std::size_t c) { return a[c] * b[c]; });
}

double product_of_rows(const double* a, const double* b, std::size_t width) { return row_product(a, b, width); }

void remove(Matrix& directions, const double* HWY_RESTRICT axis, double* HWY_RESTRICT along,
            double* HWY_RESTRICT across) {
  const D d;
  const std::size_t width = directions.cols();
  for (std::size_t i = 0; i < directions.rows(); ++i) {
    double* HWY_RESTRICT w = directions.row(i).data();
    const double part = row_product(axis, w, width);
    along[i] = part;
    across[i] = sum_row(
        width,
        [&](std::size_t c) HWY_ATTR {
          const V left = hn::NegMulAdd(hn::Set(d, part), hn::LoadU(d, axis + c), hn::LoadU(d, w + c));
          hn::StoreU(left, d, w + c);
          return hn::Mul(left, left);
        },
        [&](std::size_t c) {
          w[c] -= part * axis[c];
          return w[c] * w[c];
        });
  }
}

void reflect(Matrix& directions, const double* HWY_RESTRICT sign, const double* HWY_RESTRICT u) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t width = directions.cols();
  for (std::size_t i = 0; i < directions.rows(); ++i) {
    double* HWY_RESTRICT w = directions.row(i).data();
    const double twice = -2 * sum_row(
                                  width,
                                  [&](std::size_t c) HWY_ATTR {
                                    const V oriented = hn::Mul(hn::LoadU(d, sign + c), hn::LoadU(d, w + c));
                                    hn::StoreU(oriented, d, w + c);
                                    return u == nullptr ? hn::Zero(d) : hn::Mul(oriented, hn::LoadU(d, u + c));
                                  },
                                  [&](std::size_t c) {
                                    w[c] *= sign[c];
                                    return u == nullptr ? 0.0 : w[c] * u[c];
                                  });
    if (u == nullptr) continue;
    std::size_t c = 0;
    for (; c + lanes <= width; c += lanes) {
      hn::StoreU(hn::MulAdd(hn::Set(d, twice), hn::LoadU(d, u + c), hn::LoadU(d, w + c)), d, w + c);
    }
    for (; c < width; ++c) w[c] += twice * u[c];
  }
}

void add_row_components(const Matrix& directions, const double* HWY_RESTRICT m, const double* HWY_RESTRICT v,
                        double* HWY_RESTRICT mean, double* HWY_RESTRICT variance) {
  const D d;
  const std::size_t width = directions.cols();
  for (std::size_t i = 0; i < directions.rows(); ++i) {
    const double* HWY_RESTRICT w = directions.row(i).data();
    mean[i] = row_product(m, w, width);
    variance[i] = sum_row(
        width,
        [&](std::size_t c) HWY_ATTR {
          const V x = hn::LoadU(d, w + c);
          return hn::Mul(hn::Mul(x, x), hn::LoadU(d, v + c));
        },
        [&](std::size_t c) { return v[c] * w[c] * w[c]; });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(product_of_rows);
HWY_EXPORT(remove);
HWY_EXPORT(reflect);
HWY_EXPORT(add_row_components);

}  // namespace

double product(std::span<const double> a, std::span<const double> b) {
  return HWY_DYNAMIC_DISPATCH(product_of_rows)(a.data(), b.data(), a.size());
}

void remove_axis(Matrix& directions, std::span<const double> axis, std::span<double> along, std::span<double> across) {
  HWY_DYNAMIC_DISPATCH(remove)(directions, axis.data(), along.data(), across.data());
}

void reflect_rows(Matrix& directions, std::span<const double> sign, std::span<const double> u) {
  HWY_DYNAMIC_DISPATCH(reflect)(directions, sign.data(), u.empty() ? nullptr : u.data());
}

void add_components(const Matrix& directions, std::span<const double> m, std::span<const double> v,
                    std::span<double> mean, std::span<double> variance) {
  HWY_DYNAMIC_DISPATCH(add_row_components)(directions, m.data(), v.data(), mean.data(), variance.data());
}

}  // namespace attention_plasticity
#endif
