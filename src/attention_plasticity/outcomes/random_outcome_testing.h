#pragma once

#include <rapidcheck.h>

#include <bit>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/measure/head_outcome.h"

namespace attention_plasticity {

/// Any double: infinities, NaN with any bits, numbers of any size.
inline rc::Gen<double> any_double() {
  return rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                      [](std::uint64_t bits) { return std::bit_cast<double>(bits); });
}

inline double some_double() { return *any_double(); }
inline std::vector<double> some_doubles() { return *rc::gen::container<std::vector<double>>(any_double()); }
inline std::size_t some_count() { return *rc::gen::inRange<std::size_t>(0, 5); }

inline SideRecord some_record() {
  SideRecord record;
  ReadRecord& read = record.read;
  InputDigest& input = read.input.emplace();
  input.file_bytes = *rc::gen::arbitrary<std::uint64_t>();
  input.digest = *rc::gen::arbitrary<std::string>();
  read.rows = *rc::gen::arbitrary<std::uint64_t>();
  read.dropped_rows = *rc::gen::arbitrary<std::uint64_t>();
  read.has_examples = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) {
    record.evidence = FileEvidence{some_count(), some_double(), {some_doubles(), some_double(), some_doubles()}};
  }
  return record;
}

inline HeadResult some_result() {
  HeadResult result;
  result.head = {*rc::gen::arbitrary<int>(), *rc::gen::arbitrary<int>(), *rc::gen::arbitrary<int>()};
  result.n_q_tokens = *rc::gen::arbitrary<std::uint64_t>();
  result.width = some_count();
  if (*rc::gen::arbitrary<bool>()) result.window = some_double();
  result.slope_norm = some_double();
  result.scalar.mae_ratio = some_double();
  result.residual.ks_p = some_double();
  result.noise.share_below_alpha = some_double();
  result.component_r_squared = some_doubles();
  result.component_weight = some_doubles();
  for (std::size_t i = some_count(); i > 0; --i) {
    result.plasticity.cells.push_back({*rc::gen::arbitrary<std::int64_t>(), 0, some_double(), some_count()});
    result.times.push_back({.query_bucket = static_cast<std::int64_t>(i), .exact_error = some_double()});
  }
  if (*rc::gen::arbitrary<bool>()) {
    result.exact = ExactPlasticity{.overall = some_double(), .n_triples = some_count()};
    for (std::size_t i = some_count(); i > 0; --i) result.exact->distances.push_back({1, 2, some_double(), 0, 0, i});
  }
  result.examples = *rc::gen::arbitrary<std::vector<std::uint64_t>>();
  return result;
}

/// An outcome of any kind, whether or not a head could have it.
inline rc::Gen<HeadOutcome> random_outcome() {
  return rc::gen::exec([] {
    HeadOutcome outcome;
    if (*rc::gen::arbitrary<bool>()) {
      outcome.measured = MeasuredHead{some_result(), {{0, 2, 3}, some_doubles(), some_doubles()}};
      outcome.head = outcome.measured->result.head;
    } else {
      outcome.failure = HeadFailure{{1, 2, 3}, *rc::gen::arbitrary<std::string>(), *rc::gen::arbitrary<std::string>()};
    }
    if (*rc::gen::arbitrary<bool>()) outcome.queries = some_record();
    if (*rc::gen::arbitrary<bool>()) outcome.keys = some_record();
    return outcome;
  });
}

}  // namespace attention_plasticity
