#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/run/head_outcome.h"
#include "attention_plasticity/run/head_pass.h"

// Heads share documents, so the error of the model's mean leaves the same examples out of all heads at once. Where a
// head was captured on other examples than the rest, its own groups differ from those of all, and it is measured again.

namespace attention_plasticity {

/// The examples of all heads that have a value, ascending; none when a head names no examples, so that groups of all
/// heads are unknown.
std::optional<std::vector<std::uint64_t>> common_examples(std::span<const HeadOutcome> outcomes);

/// The SHA-256 of examples, each as decimal text and LF: what run.json names them by.
std::string examples_digest(std::span<const std::uint64_t> examples);

/// The outcomes whose values without the groups of `examples` are still to be measured.
std::vector<std::size_t> without_common_groups(std::span<const HeadOutcome> outcomes,
                                               std::span<const std::uint64_t> examples);

/// Measures the outcomes of these numbers again and sets their `common_groups`. `context` is that of the run;
/// `done` is told after each one. Returns how many were measured: fewer than all after a stop request, or when a file
/// could not be read again.
std::size_t measure_common_groups(std::span<HeadOutcome> outcomes, std::span<const std::size_t> again,
                                  std::span<const std::uint64_t> examples, const HeadPass::Context& context,
                                  int workers, const std::stop_token& stop,
                                  const std::function<void(const HeadOutcome&)>& done = {});

}  // namespace attention_plasticity
