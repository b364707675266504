#include "attention_plasticity/dump/footer_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "attention_plasticity/dump/thrift_scan.h"

namespace attention_plasticity {
namespace {

// Fields of Parquet's footer, as parquet.thrift numbers them.
constexpr std::int16_t schema = 2;
constexpr std::int16_t row_groups = 4;
constexpr std::int16_t children_of_element = 5;
constexpr std::int16_t columns_of_group = 1;

// Bytes of memory for one of each, somewhat more than Arrow 22 takes.
constexpr std::uint64_t element_memory = 320;
constexpr std::uint64_t group_memory = 256;
constexpr std::uint64_t chunk_memory = 1536;
constexpr std::uint64_t other_memory = 112;  // the largest is a pair of strings with their flags

void require(std::uint64_t number, std::uint64_t limit, std::string_view of_what) {
  if (number > limit)
    throw BeyondLimit(fmt::format("the footer has {} {}, and at most {} are read", number, of_what, limit));
}

bool is(ThriftVisitor::Path path, std::initializer_list<std::int16_t> other) { return std::ranges::equal(path, other); }

class FooterCheck final : public ThriftVisitor {
 public:
  void on_struct(Path path) override {
    if (is(path, {schema})) {
      end_element();
      in_schema_ = true;
      memory_ += element_memory;
    } else if (is(path, {row_groups})) {
      memory_ += group_memory;
    } else if (is(path, {row_groups, columns_of_group})) {
      memory_ += chunk_memory;
    }
    require_memory();
  }

  void on_list(Path path, std::uint64_t size) override {
    if (is(path, {schema})) {
      require(elements_ += size, max_schema_elements, "columns and groups of columns");
    } else if (is(path, {row_groups})) {
      require(groups_ += size, max_row_groups, "row groups");
    } else if (is(path, {row_groups, columns_of_group})) {
      require(size, max_schema_elements, "columns in a row group");
    } else {
      require(size, max_list_elements, "elements in a list");
      memory_ += size * other_memory;
    }
    require_memory();
  }

  void on_i32(Path path, std::int32_t value) override {
    if (is(path, {schema, children_of_element})) children_ = value;
  }

  std::uint64_t finish() {
    end_element();
    if (deepest_ > max_schema_depth) {
      throw BeyondLimit(
          fmt::format("the columns are nested {} levels deep, and at most {} are read", deepest_, max_schema_depth));
    }
    return memory_;
  }

 private:
  /// Elements come depth first, each with the number of its children.
  void end_element() {
    if (!in_schema_) return;
    in_schema_ = false;
    if (!open_.empty()) --open_.back();
    if (children_ > 0) open_.push_back(children_);
    deepest_ = std::max<std::uint64_t>(deepest_, open_.size());
    while (!open_.empty() && open_.back() <= 0) open_.pop_back();
    children_ = 0;
  }

  void require_memory() const {
    if (memory_ > max_footer_memory) {
      throw BeyondLimit(
          fmt::format("the footer would take more than {} bytes of memory, and at most {} are used for it", memory_,
                      max_footer_memory));
    }
  }

  std::uint64_t elements_ = 0;
  std::uint64_t groups_ = 0;
  std::uint64_t memory_ = 0;
  std::uint64_t deepest_ = 0;
  bool in_schema_ = false;
  std::int32_t children_ = 0;
  std::vector<std::int32_t> open_;  ///< children still to come, of each group of columns that is open
};

}  // namespace

std::uint64_t check_footer(std::span<const std::uint8_t> footer) {
  require(footer.size(), max_footer_bytes, "bytes");
  FooterCheck check;
  scan_thrift(footer, check);
  return check.finish() + 2 * footer.size();
}

}  // namespace attention_plasticity
