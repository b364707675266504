#include "attention_plasticity/outcomes/outcome_bytes.h"

#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// To be raised when a member of HeadOutcome is added, removed or changes its meaning.
constexpr std::uint64_t format_version = 2;
constexpr std::uint64_t magic = 0x6461'6568'5041ULL | (format_version << 48U);  // "APhead"
constexpr std::size_t digest_size = 64;

// The members of each struct, for both directions. A structured binding names every member, so that a new one does not
// compile until it is kept.
void visit(auto& archive, HeadId& value) {
  auto& [layer, q_head, k_head] = value;
  archive(layer, q_head, k_head);
}
void visit(auto& archive, ScalarPredictability& value) {
  auto& [r_squared, mae_baseline, mae_projection, mae_ratio] = value;
  archive(r_squared, mae_baseline, mae_projection, mae_ratio);
}
void visit(auto& archive, Normality& value) {
  auto& [skewness, excess_kurtosis, ks_p] = value;
  archive(skewness, excess_kurtosis, ks_p);
}
void visit(auto& archive, NoiseNormality& value) {
  auto& [median_abs_skewness, median_abs_excess_kurtosis, median_ks_p, share_below_alpha] = value;
  archive(median_abs_skewness, median_abs_excess_kurtosis, median_ks_p, share_below_alpha);
}
void visit(auto& archive, Cell& value) {
  auto& [query_bucket, key_bucket, plasticity, n_pairs] = value;
  archive(query_bucket, key_bucket, plasticity, n_pairs);
}
void visit(auto& archive, PooledPlasticity& value) {
  auto& [overall, cells] = value;
  archive(overall, cells);
}
void visit(auto& archive, DistanceBin& value) {
  auto& [near_bin, far_bin, plasticity, logit_fixed, logit_spread, n_triples] = value;
  archive(near_bin, far_bin, plasticity, logit_fixed, logit_spread, n_triples);
}
void visit(auto& archive, ExactPlasticity& value) {
  auto& [overall, empirical, logit_fixed, logit_spread, n_triples, distances] = value;
  archive(overall, empirical, logit_fixed, logit_spread, n_triples, distances);
}
void visit(auto& archive, TimePoint& value) {
  auto& [query_bucket, position, plasticity, n_pairs, n_queries, exact, exact_error, n_triples] = value;
  archive(query_bucket, position, plasticity, n_pairs, n_queries, exact, exact_error, n_triples);
}
void visit(auto& archive, HeadResult& value) {
  auto& [head, n_q_tokens, n_k_tokens, width, window, position_r_squared, slope_norm, scalar, residual, noise,
         component_r_squared, component_weight, plasticity, plasticity_error, exact, exact_error, times, examples] =
      value;
  archive(head, n_q_tokens, n_k_tokens, width, window, position_r_squared, slope_norm, scalar, residual, noise,
          component_r_squared, component_weight, plasticity, plasticity_error, exact, exact_error, times, examples);
}
void visit(auto& archive, WithoutGroup& value) {
  auto& [groups, overall, exact] = value;
  archive(groups, overall, exact);
}
void visit(auto& archive, MeasuredHead& value) {
  auto& [result, without_group] = value;
  archive(result, without_group);
}
void visit(auto& archive, HeadFailure& value) {
  auto& [head, file, message] = value;
  archive(head, file, message);
}
void visit(auto& archive, InputDigest& value) {
  auto& [file_bytes, digest, etag] = value;
  archive(file_bytes, digest, etag);
}
void visit(auto& archive, FixedEnergy& value) {
  auto& [common, configured, further] = value;
  archive(common, configured, further);
}
void visit(auto& archive, FileEvidence& value) {
  auto& [width, energy, fixed] = value;
  archive(width, energy, fixed);
}
void visit(auto& archive, ReadRecord& value) {
  auto& [input, rows, dropped_rows, has_examples] = value;
  archive(input, rows, dropped_rows, has_examples);
}
void visit(auto& archive, SideRecord& value) {
  auto& [read, evidence] = value;
  archive(read, evidence);
}
void visit(auto& archive, HeadOutcome& value) {
  auto& [head, measured, failure, queries, keys] = value;
  archive(head, measured, failure, queries, keys);
}

// Numbers that are copied as they are.
template <typename T>
concept Plain = std::same_as<T, double> || std::same_as<T, std::uint64_t>;

class Writer {
 public:
  explicit Writer(const std::function<void(std::string_view)>& sink) : sink_(sink) {}
  void operator()(auto&... members) { (add(members), ...); }
  void finish() {
    hand_over();
    sink_(digest_.finish());
  }
  void begin() { raw(&magic, 1); }

 private:
  template <typename T>
  void add(T& value) {
    if constexpr (Plain<T>) {
      raw(&value, 1);
    } else if constexpr (std::is_integral_v<T>) {
      const auto number = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
      raw(&number, 1);
    } else {
      visit(*this, value);
    }
  }
  void add(std::string& text) {
    count(text.size());
    append(text);
  }
  template <typename T>
  void add(std::optional<T>& value) {
    count(value ? 1 : 0);
    if (value) add(*value);
  }
  template <typename T>
  void add(std::vector<T>& list) {
    count(list.size());
    if constexpr (Plain<T>) {
      raw(list.data(), list.size());
    } else {
      for (T& item : list) add(item);
    }
  }
  void count(std::size_t items) {
    const std::uint64_t number = items;
    raw(&number, 1);
  }
  template <Plain T>
  void raw(const T* values, std::size_t number) {
    if (number > 0) append({reinterpret_cast<const char*>(values), number * sizeof(T)});
  }
  void append(std::string_view bytes) {
    constexpr std::size_t piece = std::size_t{1} << 16;
    piece_ += bytes;
    if (piece_.size() >= piece) hand_over();
  }
  void hand_over() {
    digest_.add(piece_);
    sink_(piece_);
    piece_.clear();
  }

  const std::function<void(std::string_view)>& sink_;
  Digest digest_{DigestKind::sha256};
  std::string piece_;  // of the bytes, not handed over yet
};

[[noreturn]] void refuse() { throw Error(ErrorKind::input, "not the record of a head, or damaged"); }

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  void operator()(auto&... members) { (read(members), ...); }
  bool at_end() const { return rest_.empty(); }

 private:
  template <typename T>
  void read(T& value) {
    if constexpr (Plain<T>) {
      raw(&value, 1);
    } else if constexpr (std::is_integral_v<T>) {
      std::uint64_t number = 0;
      raw(&number, 1);
      value = static_cast<T>(static_cast<std::int64_t>(number));
    } else {
      visit(*this, value);
    }
  }
  void read(std::string& text) {
    const std::size_t size = count();
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }
  template <typename T>
  void read(std::optional<T>& value) {
    if (count() > 0) read(value.emplace());
  }
  template <typename T>
  void read(std::vector<T>& list) {
    const std::size_t size = count();
    if constexpr (Plain<T>) {
      if (size > rest_.size() / sizeof(T)) refuse();
      list.resize(size);
      raw(list.data(), size);
    } else {
      // Each number of an item has 8 bytes, so memory stays in proportion to the bytes, whatever they claim.
      if (size > rest_.size() / sizeof(std::uint64_t)) refuse();
      list.resize(size);
      for (T& item : list) read(item);
    }
  }
  // An item has at least one byte, so that no size is taken on trust.
  std::size_t count() {
    std::uint64_t number = 0;
    raw(&number, 1);
    if (number > rest_.size()) refuse();
    return number;
  }
  template <Plain T>
  void raw(T* values, std::size_t number) {
    const std::size_t size = number * sizeof(T);
    if (size > rest_.size()) refuse();
    rest_.copy(reinterpret_cast<char*>(values), size);
    rest_.remove_prefix(size);
  }

  std::string_view rest_;
};

}  // namespace

void write_outcome(const HeadOutcome& outcome, const std::function<void(std::string_view)>& sink) {
  Writer writer(sink);
  writer.begin();
  // The writer reads only; the lists above serve both directions.
  visit(writer, const_cast<HeadOutcome&>(outcome));
  writer.finish();
}

std::string outcome_bytes(const HeadOutcome& outcome) {
  std::string bytes;
  write_outcome(outcome, [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

HeadOutcome outcome_of_bytes(std::string_view bytes) {
  std::uint64_t first = 0;
  if (bytes.size() < sizeof magic + digest_size) refuse();
  std::memcpy(&first, bytes.data(), sizeof first);
  if (first != magic) refuse();
  const std::string_view covered = bytes.substr(0, bytes.size() - digest_size);
  if (sha256(covered) != bytes.substr(covered.size())) refuse();
  HeadOutcome outcome;
  Reader reader(covered.substr(sizeof magic));
  visit(reader, outcome);
  if (!reader.at_end()) refuse();
  return outcome;
}

}  // namespace attention_plasticity
