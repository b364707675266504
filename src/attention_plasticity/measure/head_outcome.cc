#include "attention_plasticity/measure/head_outcome.h"

namespace attention_plasticity {
namespace {

template <class T>
std::uint64_t bytes_of(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

std::uint64_t bytes_of(const WithoutGroup& groups) {
  return bytes_of(groups.groups) + bytes_of(groups.overall) + bytes_of(groups.exact);
}

std::uint64_t bytes_of(const HeadResult& result) {
  return bytes_of(result.component_r_squared) + bytes_of(result.component_weight) + bytes_of(result.plasticity.cells) +
         (result.exact ? bytes_of(result.exact->distances) : 0) + bytes_of(result.times) + bytes_of(result.examples);
}

std::uint64_t bytes_of(const std::optional<SideRecord>& side) {
  if (!side) return 0;
  return (side->read.input ? side->read.input->digest.capacity() : 0) +
         (side->evidence ? bytes_of(side->evidence->fixed.common) + bytes_of(side->evidence->fixed.further) : 0);
}

}  // namespace

std::uint64_t memory_of(const HeadOutcome& outcome) {
  std::uint64_t bytes = sizeof(HeadOutcome) + bytes_of(outcome.queries) + bytes_of(outcome.keys);
  if (outcome.measured) bytes += bytes_of(outcome.measured->result) + bytes_of(outcome.measured->without_group);
  if (outcome.failure) bytes += outcome.failure->file.capacity() + outcome.failure->message.capacity();
  return bytes;
}

}  // namespace attention_plasticity
