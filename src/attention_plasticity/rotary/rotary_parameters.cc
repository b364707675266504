#include "attention_plasticity/rotary/rotary_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

constexpr std::array<std::pair<RotaryKind, std::string_view>, 7> kinds{{
    {RotaryKind::standard, "default"},
    {RotaryKind::linear, "linear"},
    {RotaryKind::dynamic, "dynamic"},
    {RotaryKind::yarn, "yarn"},
    {RotaryKind::llama3, "llama3"},
    {RotaryKind::longrope, "longrope"},
    {RotaryKind::listed, "listed"},
}};

[[noreturn]] void refuse(std::string_view key, double value, std::string_view expected) {
  throw Error(ErrorKind::usage, fmt::format("{} is {}; {} is expected", key, value, expected));
}

[[noreturn]] void refuse_missing(RotaryKind kind, std::string_view key, std::string_view what) {
  throw Error(ErrorKind::usage, fmt::format("{} is missing; rope_type {} needs {}", key, rotary_kind_name(kind), what));
}

void check_above(std::string_view key, double value, double bound) {
  const bool fits = value > bound && std::isfinite(value);
  if (!fits) refuse(key, value, fmt::format("a number above {}", bound));
}

void check_above(std::string_view key, std::optional<double> value, double bound) {
  if (value) check_above(key, *value, bound);
}

double required(RotaryKind kind, std::string_view key, std::optional<double> value) {
  if (!value) refuse_missing(kind, key, "a number above 0");
  check_above(key, *value, 0);
  return *value;
}

/// The original length, or the trained length if there is none.
double original_length(const RotaryParameters& parameters) {
  const std::optional<double> length =
      parameters.original_length ? parameters.original_length : parameters.trained_length;
  if (!length) {
    refuse_missing(parameters.kind, "original_max_position_embeddings",
                   "the length that the model was first trained on");
  }
  return *length;
}

/// By what factor yarn or longrope extends the original length.
double extension(const RotaryParameters& parameters) {
  if (parameters.factor) return *parameters.factor;
  if (!parameters.trained_length) {
    refuse_missing(parameters.kind, "factor", "it, or max_position_embeddings beside original_max_position_embeddings");
  }
  return *parameters.trained_length / original_length(parameters);
}

void check_yarn(const RotaryParameters& parameters) {
  check_above("rope_theta", parameters.theta, 1);
  check_above("beta_slow", parameters.beta_slow, 0);
  check_above("beta_fast", parameters.beta_fast, 0);
  if (parameters.beta_fast < parameters.beta_slow) {
    refuse("beta_fast", parameters.beta_fast, fmt::format("a number not below beta_slow ({})", parameters.beta_slow));
  }
  for (const auto& [key, value] :
       {std::pair{"mscale", parameters.mscale}, {"mscale_all_dim", parameters.mscale_all_dim}}) {
    const bool fits = !value || (*value >= 0 && std::isfinite(*value));
    if (!fits) refuse(key, *value, "a number not below 0");
  }
  original_length(parameters);
  extension(parameters);
}

void check_llama3(const RotaryParameters& parameters) {
  required(parameters.kind, "factor", parameters.factor);
  const double low = required(parameters.kind, "low_freq_factor", parameters.low_freq_factor);
  const double high = required(parameters.kind, "high_freq_factor", parameters.high_freq_factor);
  if (high <= low) refuse("high_freq_factor", high, fmt::format("a number above low_freq_factor ({})", low));
  original_length(parameters);
}

void check_longrope(const RotaryParameters& parameters) {
  for (const auto& [key, factors] :
       {std::pair{"short_factor", &parameters.short_factor}, {"long_factor", &parameters.long_factor}}) {
    if (factors->empty()) refuse_missing(parameters.kind, key, "a list of numbers above 0");
    for (const double factor : *factors) check_above(key, factor, 0);
  }
  // The logarithm of theta is a divisor.
  check_above("original_max_position_embeddings", original_length(parameters), 1);
  extension(parameters);
}

// A pair may stand still.
void check_listed(const RotaryParameters& parameters) {
  if (parameters.frequencies.empty()) refuse_missing(parameters.kind, "inv_freq", "a list of numbers not below 0");
  for (const double frequency : parameters.frequencies) {
    const bool fits = frequency >= 0 && std::isfinite(frequency);
    if (!fits) refuse("inv_freq", frequency, "a number not below 0");
  }
}

std::vector<double> standard_frequencies(double theta, std::size_t dim) {
  std::vector<double> frequencies(dim / 2);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] = std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(dim));
  }
  return frequencies;
}

void scale_linear(std::vector<double>& frequencies, const RotaryParameters& parameters) {
  const double factor = required(parameters.kind, "factor", parameters.factor);
  for (double& frequency : frequencies) frequency /= factor;
}

/// YaRN, section 3.2: the (fractional) index of the pair that makes `rotations` rotations over the original length.
double pair_of_rotations(const RotaryParameters& parameters, double dim, double rotations) {
  return dim * std::log(original_length(parameters) / (2 * std::numbers::pi * rotations)) /
         (2 * std::log(parameters.theta));
}

void scale_yarn(std::vector<double>& frequencies, const RotaryParameters& parameters) {
  const double dim = 2 * static_cast<double>(frequencies.size());
  double low = pair_of_rotations(parameters, dim, parameters.beta_fast);
  double high = pair_of_rotations(parameters, dim, parameters.beta_slow);
  if (parameters.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  // As in transformers: a ramp of length 0 becomes a step.
  if (low == high) high += 0.001;
  const double factor = extension(parameters);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double interpolated = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] *= interpolated / factor + (1 - interpolated);
  }
}

void scale_llama3(std::vector<double>& frequencies, const RotaryParameters& parameters) {
  const double factor = required(parameters.kind, "factor", parameters.factor);
  const double low = required(parameters.kind, "low_freq_factor", parameters.low_freq_factor);
  const double high = required(parameters.kind, "high_freq_factor", parameters.high_freq_factor);
  const double length = original_length(parameters);
  for (double& frequency : frequencies) {
    const double rotations = length * frequency / (2 * std::numbers::pi);
    const double kept = std::clamp((rotations - low) / (high - low), 0.0, 1.0);
    frequency *= (1 - kept) / factor + kept;
  }
}

void scale_longrope(std::vector<double>& frequencies, const RotaryParameters& parameters, double largest_position) {
  const bool is_long = largest_position + 1 > original_length(parameters);
  const std::vector<double>& factors = is_long ? parameters.long_factor : parameters.short_factor;
  for (const auto& [key, list] :
       {std::pair{"short_factor", &parameters.short_factor}, {"long_factor", &parameters.long_factor}}) {
    if (list->size() != frequencies.size()) {
      throw Error(ErrorKind::usage, fmt::format("{} has {} numbers; one for each of the {} rotated pairs is expected",
                                                key, list->size(), frequencies.size()));
    }
  }
  for (std::size_t i = 0; i < frequencies.size(); ++i) frequencies[i] /= factors[i];
}

std::vector<double> listed_frequencies(const RotaryParameters& parameters, std::size_t pairs) {
  if (parameters.frequencies.size() == pairs) return parameters.frequencies;
  throw Error(ErrorKind::usage, fmt::format("inv_freq has {} numbers; one for each of the {} rotated pairs is expected",
                                            parameters.frequencies.size(), pairs));
}

void check_trained_length(const RotaryParameters& parameters, double largest_position) {
  const double length = required(parameters.kind, "max_position_embeddings", parameters.trained_length);
  if (largest_position + 1 <= length) return;
  throw Error(ErrorKind::usage,
              fmt::format("position {} lies past the trained length {} (max_position_embeddings), where a rotation of "
                          "rope_type dynamic depends on the length of each sequence; pass `num_triples: 0` to leave "
                          "position-exact plasticity out",
                          largest_position, length));
}

double yarn_scale(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1; }

double attention_factor(const RotaryParameters& parameters) {
  if (parameters.kind == RotaryKind::listed) return parameters.attention_factor.value_or(1);
  if (parameters.kind != RotaryKind::yarn && parameters.kind != RotaryKind::longrope) return 1;
  if (parameters.attention_factor) return *parameters.attention_factor;
  const double factor = extension(parameters);
  if (parameters.kind == RotaryKind::longrope) {
    return factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original_length(parameters)));
  }
  const double mscale = parameters.mscale.value_or(0);
  const double mscale_all_dim = parameters.mscale_all_dim.value_or(0);
  if (mscale == 0 || mscale_all_dim == 0) return yarn_scale(factor, 1);
  return yarn_scale(factor, mscale) / yarn_scale(factor, mscale_all_dim);
}

std::vector<double> frequencies_of(const RotaryParameters& parameters, std::size_t dim, double largest_position) {
  std::vector<double> frequencies = standard_frequencies(parameters.theta, dim);
  switch (parameters.kind) {
    case RotaryKind::none:
    case RotaryKind::standard:
      break;
    case RotaryKind::linear:
      scale_linear(frequencies, parameters);
      break;
    case RotaryKind::dynamic:
      check_trained_length(parameters, largest_position);
      break;
    case RotaryKind::yarn:
      scale_yarn(frequencies, parameters);
      break;
    case RotaryKind::llama3:
      scale_llama3(frequencies, parameters);
      break;
    case RotaryKind::longrope:
      scale_longrope(frequencies, parameters, largest_position);
      break;
    case RotaryKind::listed:
      return listed_frequencies(parameters, frequencies.size());
  }
  return frequencies;
}

}  // namespace

std::string_view rotary_kind_name(RotaryKind kind) {
  const auto* const found = std::ranges::find(kinds, kind, &std::pair<RotaryKind, std::string_view>::first);
  return found == kinds.end() ? "none" : found->second;
}

std::optional<RotaryKind> rotary_kind_of(std::string_view name) {
  const auto* const found = std::ranges::find(kinds, name, &std::pair<RotaryKind, std::string_view>::second);
  return found == kinds.end() ? std::nullopt : std::optional(found->first);
}

std::string_view rotary_kind_names() { return "default, linear, dynamic, yarn, llama3, longrope, listed"; }

void check_rotary_parameters(const RotaryParameters& parameters) {
  if (parameters.kind == RotaryKind::none) return;
  check_above("rope_theta", parameters.theta, 0);
  if (parameters.kind == RotaryKind::standard) return;
  check_above("factor", parameters.factor, 0);
  check_above("attention_factor", parameters.attention_factor, 0);
  check_above("original_max_position_embeddings", parameters.original_length, 0);
  check_above("max_position_embeddings", parameters.trained_length, 0);
  switch (parameters.kind) {
    case RotaryKind::none:
    case RotaryKind::standard:
      break;
    case RotaryKind::linear:
      required(parameters.kind, "factor", parameters.factor);
      break;
    case RotaryKind::dynamic:
      required(parameters.kind, "max_position_embeddings", parameters.trained_length);
      break;
    case RotaryKind::yarn:
      check_yarn(parameters);
      break;
    case RotaryKind::llama3:
      check_llama3(parameters);
      break;
    case RotaryKind::longrope:
      check_longrope(parameters);
      break;
    case RotaryKind::listed:
      check_listed(parameters);
      break;
  }
}

Rotation make_rotation(const RotaryParameters& parameters, std::size_t dim, RotaryLayout layout,
                       double largest_position) {
  if (parameters.kind == RotaryKind::none) return Rotation{.layout = layout, .frequency = {}, .attention_factor = 1};
  if (dim == 0 || dim % 2 != 0) {
    throw Error(ErrorKind::usage,
                fmt::format("{} components cannot be rotated in pairs; an even number is expected", dim));
  }
  check_rotary_parameters(parameters);
  Rotation rotation{.layout = layout,
                    .frequency = frequencies_of(parameters, dim, largest_position),
                    .attention_factor = attention_factor(parameters)};
  const bool finite = std::ranges::all_of(rotation.frequency, [](double f) { return std::isfinite(f); });
  if (!finite || !std::isfinite(rotation.attention_factor)) {
    throw Error(ErrorKind::usage, fmt::format("rope_theta {} with these parameters gives a rotation that is not finite",
                                              parameters.theta));
  }
  return rotation;
}

}  // namespace attention_plasticity
