#include "head_results.h"

#include <nanobind/stl/string_view.h>

#include <cmath>
#include <string>
#include <string_view>
#include <tuple>

#include "attention_plasticity/head_result.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/schema.h"
#include "value_class.h"

namespace nb = nanobind;

namespace attention_plasticity::python {
namespace {

// What the schema says of a column.
std::string meaning(std::string_view column, TableId table = TableId::metrics) {
  return std::string(result_table(table).find(column)->meaning) + ".";
}

}  // namespace

template <>
struct FieldsOf<HeadId> {
  static auto all() {
    return std::tuple(Field{"layer", &HeadId::layer, meaning("layer")},
                      Field{"q_head", &HeadId::q_head, meaning("q_head")},
                      Field{"k_head", &HeadId::k_head, meaning("k_head")});
  }
};

template <>
struct FieldsOf<ScalarPredictability> {
  static auto all() {
    using T = ScalarPredictability;
    return std::tuple(Field{"r_squared", &T::r_squared, meaning("q_R2_scalar")},
                      Field{"mae_baseline", &T::mae_baseline, meaning("q_mae_baseline")},
                      Field{"mae_projection", &T::mae_projection, meaning("q_mae_proj")},
                      Field{"mae_ratio", &T::mae_ratio, meaning("q_mae_ratio")});
  }
};

template <>
struct FieldsOf<Normality> {
  static auto all() {
    return std::tuple(Field{"skewness", &Normality::skewness, meaning("q_resid0_skew")},
                      Field{"excess_kurtosis", &Normality::excess_kurtosis, meaning("q_resid0_kurt")},
                      Field{"ks_p", &Normality::ks_p, meaning("q_resid0_ks_p")});
  }
};

template <>
struct FieldsOf<NoiseNormality> {
  static auto all() {
    using T = NoiseNormality;
    return std::tuple(
        Field{"median_abs_skewness", &T::median_abs_skewness, meaning("q_noise_med_abs_skew")},
        Field{"median_abs_excess_kurtosis", &T::median_abs_excess_kurtosis, meaning("q_noise_med_abs_kurt")},
        Field{"median_ks_p", &T::median_ks_p, meaning("q_noise_med_ks_p")},
        Field{"share_below_alpha", &T::share_below_alpha, meaning("q_noise_frac_ks_p_lt_alpha")});
  }
};

template <>
struct FieldsOf<Cell> {
  static auto all() {
    return std::tuple(Field{"query_bucket", &Cell::query_bucket, meaning("q_bucket", TableId::buckets)},
                      Field{"key_bucket", &Cell::key_bucket, meaning("k_bucket", TableId::buckets)},
                      Field{"plasticity", &Cell::plasticity, meaning("plasticity", TableId::buckets)},
                      Field{"n_pairs", &Cell::n_pairs, meaning("n_pairs", TableId::buckets)});
  }
};

template <>
struct FieldsOf<PooledPlasticity> {
  static auto all() {
    return std::tuple(Field{"overall", &PooledPlasticity::overall, meaning("ap_overall")},
                      Field{"cells", &PooledPlasticity::cells, "By query bucket and key bucket."});
  }
};

template <>
struct FieldsOf<DistanceBin> {
  static auto all() {
    const auto of = [](std::string_view column) { return meaning(column, TableId::distance); };
    return std::tuple(Field{"near_bin", &DistanceBin::near_bin, of("near_bin")},
                      Field{"far_bin", &DistanceBin::far_bin, of("far_bin")},
                      Field{"plasticity", &DistanceBin::plasticity, of("plasticity")},
                      Field{"logit_fixed", &DistanceBin::logit_fixed, of("logit_fixed")},
                      Field{"logit_spread", &DistanceBin::logit_spread, of("logit_spread")},
                      Field{"n_triples", &DistanceBin::n_triples, of("n_triples")});
  }
};

template <>
struct FieldsOf<ExactPlasticity> {
  static auto all() {
    using T = ExactPlasticity;
    return std::tuple(Field{"overall", &T::overall, meaning("ap_exact")},
                      Field{"empirical", &T::empirical, meaning("ap_exact_empirical")},
                      Field{"logit_fixed", &T::logit_fixed, meaning("logit_fixed")},
                      Field{"logit_spread", &T::logit_spread, meaning("logit_spread")},
                      Field{"n_triples", &T::n_triples, meaning("n_triples")},
                      Field{"distances", &T::distances, "By near_bin and far_bin."});
  }
};

template <>
struct FieldsOf<TimePoint> {
  static auto all() {
    const auto of = [](std::string_view column) { return meaning(column, TableId::time); };
    return std::tuple(Field{"query_bucket", &TimePoint::query_bucket, of("q_bucket")},
                      Field{"position", &TimePoint::position, of("position")},
                      Field{"plasticity", &TimePoint::plasticity, of("plasticity")},
                      Field{"n_pairs", &TimePoint::n_pairs, of("n_pairs")},
                      Field{"n_queries", &TimePoint::n_queries, of("n_queries")},
                      Field{"exact", &TimePoint::exact, of("ap_exact")},
                      Field{"exact_error", &TimePoint::exact_error, of("ap_exact_se")},
                      Field{"n_triples", &TimePoint::n_triples, of("n_triples")});
  }
};

template <>
struct FieldsOf<HeadResult> {
  static auto all() {
    using T = HeadResult;
    return std::tuple(
        Field{"head", &T::head, "Whose figures these are."}, Field{"n_q_tokens", &T::n_q_tokens, meaning("n_q_tokens")},
        Field{"n_k_tokens", &T::n_k_tokens, meaning("n_k_tokens")}, Field{"width", &T::width, meaning("d_model")},
        Field{"window", &T::window, "Sliding window in tokens; None: full attention."},
        Field{"position_r_squared", &T::position_r_squared, meaning("q_R2_pos")},
        Field{"slope_norm", &T::slope_norm, meaning("q_beta_norm")},
        Field{"scalar", &T::scalar, "How well the queries along their slope tell their position."},
        Field{"residual", &T::residual, "Normality of the queries along their slope, position removed."},
        Field{"noise", &T::noise, "Normality of the other components."},
        Field{"component_r_squared", &T::component_r_squared, meaning("r2", TableId::components)},
        Field{"component_weight", &T::component_weight, meaning("weight", TableId::components)},
        Field{"plasticity", &T::plasticity, "Pooled plasticity, over buckets of positions."},
        Field{"plasticity_error", &T::plasticity_error, meaning("ap_overall_se")},
        Field{"exact", &T::exact, "Position-exact plasticity; None: the rotation is not known."},
        Field{"exact_error", &T::exact_error, meaning("ap_exact_se")},
        Field{"times", &T::times, "By query bucket, those that have cells or triples."},
        Field{"examples", &T::examples,
              "Distinct ids of the documents of queries and keys, ascending; empty if a side has no ids."});
  }
};

namespace {

// The columns of head_metrics.csv that the result has.
nb::dict metrics_of(const HeadResult& result) {
  const HeadResult results[]{result};
  const WrittenColumns run{.errors = !std::isnan(result.plasticity_error) || !std::isnan(result.exact_error),
                           .exact = result.exact.has_value()};
  const Table table = table_of(TableId::metrics, results, run, {});
  nb::dict values;
  for (const TableColumn& column : table.columns) {
    values[nb::str(column.name.c_str(), column.name.size())] =
        std::visit([](const auto& numbers) { return nb::cast(numbers.front()); }, column.values);
  }
  return values;
}

std::string summary_of(const HeadResult& result) {
  const HeadId& head = result.head;
  std::string text = "HeadResult(layer=" + std::to_string(head.layer) + ", q_head=" + std::to_string(head.q_head) +
                     ", k_head=" + std::to_string(head.k_head);
  if (result.exact) text += ", ap_exact=" + shown(result.exact->overall);
  return text + ", ap_overall=" + shown(result.plasticity.overall) + ")";
}

}  // namespace

void bind_head_results(nb::module_& module) {
  bind_value<HeadId>(module, "HeadId", "A query head and the key head that it reads.")
      .def("__hash__",
           [](const HeadId& head) { return nb::hash(nb::make_tuple(head.layer, head.q_head, head.k_head)); });
  bind_value<ScalarPredictability>(module, "ScalarPredictability",
                                   "How well a projection of the query predicts log2(position + 1).");
  bind_value<Normality>(module, "Normality", "Shape of a standardised sample against N(0, 1).");
  bind_value<NoiseNormality>(module, "NoiseNormality", "Normality over the components that do not follow position.");
  bind_value<Cell>(module, "Cell", "The queries of one bucket and the keys of an earlier one.");
  bind_value<PooledPlasticity>(module, "PooledPlasticity", "4 p (1 - p) over pairs of keys, by buckets.");
  bind_value<DistanceBin>(module, "DistanceBin", "The triples of one pair of distance bins.");
  bind_value<ExactPlasticity>(module, "ExactPlasticity", "Plasticity with the rotation followed to each position.");
  bind_value<TimePoint>(module, "TimePoint", "What was measured of the queries of one bucket.");
  bind_value<HeadResult>(
      module, "HeadResult",
      "Everything that is measured of one head. NaN: it does not exist. Two are equal when all their "
      "figures are, to the last bit; they can be pickled.",
      &summary_of)
      .def("metrics", metrics_of, nb::sig("def metrics(self) -> dict[str, float]"),
           "The figures under the names of the columns of head_metrics.csv.");
}

}  // namespace attention_plasticity::python
