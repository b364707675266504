#include "attention_plasticity/dump/vector_pages.h"

#include <parquet/column_page.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace attention_plasticity {
namespace {

struct Run {
  std::size_t count = 0;  ///< number of levels; in a packed run a multiple of 8, and the last ones may be padding
  bool is_packed = false;
  std::uint8_t level = 0;                ///< if the run is not packed
  std::span<const std::uint8_t> packed;  ///< least significant bits first
};

class Runs {
 public:
  Runs(std::span<const std::uint8_t> bytes, int bits) : bytes_(bytes), bits_(static_cast<std::size_t>(bits)) {}

  std::span<const std::uint8_t> rest() const { return bytes_; }
  void skip(std::size_t bytes) { bytes_ = bytes_.subspan(bytes); }

  /// False at the end of the bytes, or if they are not a run.
  bool next(Run& run) {
    std::size_t header = 0;
    if (!read_header(header) || header < 2) return false;
    run.is_packed = (header & 1) != 0;
    if (run.is_packed) {
      const std::size_t length = (header >> 1) * bits_;
      if (bytes_.size() < length) return false;
      run.count = (header >> 1) * 8;
      run.packed = bytes_.first(length);
      bytes_ = bytes_.subspan(length);
    } else {
      if (bytes_.empty()) return false;
      run.count = header >> 1;
      run.level = bytes_.front();
      bytes_ = bytes_.subspan(1);
    }
    return true;
  }

 private:
  // Seven bits per byte, the least significant first. No page needs more than four bytes.
  bool read_header(std::size_t& header) {
    for (std::size_t i = 0; i < std::min<std::size_t>(4, bytes_.size()); ++i) {
      header |= static_cast<std::size_t>(bytes_[i] & 0x7fU) << (7 * i);
      if (bytes_[i] < 0x80) {
        bytes_ = bytes_.subspan(i + 1);
        return true;
      }
    }
    return false;
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t bits_;
};

/// `second` is a tail of `first`. Counts how often the bytes between their beginnings are repeated at the beginning of
/// `second`.
std::size_t repetitions(std::span<const std::uint8_t> first, std::span<const std::uint8_t> second) {
  const std::size_t length = first.size() - second.size();
  const auto differing = std::mismatch(second.begin(), second.end(), first.begin());
  return static_cast<std::size_t>(differing.first - second.begin()) / length;
}

bool same_bits(unsigned a, unsigned b, std::size_t bits) { return ((a ^ b) & (0xffU >> (8 - bits))) == 0; }

/// Checks levels entry by entry against rows of one width.
class RowPattern {
 public:
  RowPattern(std::size_t width, std::size_t begun) : width_(width), begun_(begun) {}

  bool is_between_rows() const { return begun_ == 0; }

  bool repeats(std::uint8_t level, std::size_t count) {
    if (level == 0) return width_ == 1 || (begun_ == 0 && count == 1 && advance(1));
    return level == 1 && begun_ > 0 && count <= width_ - begun_ && advance(count);
  }

  bool is_packed_in(std::uint8_t byte, std::size_t count) {
    unsigned expected = 0xff;
    for (std::size_t begin = begun_ == 0 ? 0 : width_ - begun_; begin < count; begin += width_) {
      expected &= ~(1U << begin);
    }
    if (!same_bits(byte, expected, count)) return false;
    begun_ += count;
    while (begun_ >= width_) begun_ -= width_;
    return true;
  }

 private:
  bool advance(std::size_t count) {
    begun_ += count;
    if (begun_ == width_) begun_ = 0;
    return true;
  }

  std::size_t width_;
  std::size_t begun_;
};

}  // namespace

bool runs_repeat(std::span<const std::uint8_t> runs, int bits, std::uint8_t level, std::size_t count) {
  if (bits != 1 && bits != 2) return false;
  const auto all = static_cast<std::uint8_t>(bits == 1 ? level * 0xffU : level * 0x55U);
  Runs rest(runs, bits);
  for (Run run; count > 0;) {
    if (!rest.next(run)) return false;
    const std::size_t taken = std::min(run.count, count);
    count -= taken;
    if (!run.is_packed) {
      if (run.level != level) return false;
      continue;
    }
    std::size_t bits_left = taken * static_cast<std::size_t>(bits);
    for (const std::uint8_t byte : run.packed) {
      const std::size_t here = std::min<std::size_t>(8, bits_left);
      if (here == 0) break;
      if (!same_bits(byte, all, here)) return false;
      bits_left -= here;
    }
  }
  return true;
}

bool runs_form_rows(std::span<const std::uint8_t> runs, std::size_t width, std::size_t begun, std::size_t count) {
  if (begun >= width) return false;
  Runs rest(runs, 1);
  RowPattern rows(width, begun);
  std::span<const std::uint8_t> row_begin;  // the bytes from the row's begin on
  std::size_t count_at_row_begin = 0;
  for (Run run; count > 0;) {
    if (rows.is_between_rows()) {
      // Most rows have the same bytes as the row before and need not be looked at again.
      if (count_at_row_begin == count + width) {
        const std::size_t same = std::min(repetitions(row_begin, rest.rest()), count / width);
        rest.skip(same * (row_begin.size() - rest.rest().size()));
        count -= same * width;
        if (count == 0) break;
      }
      row_begin = rest.rest();
      count_at_row_begin = count;
    }
    if (!rest.next(run)) return false;
    std::size_t taken = std::min(run.count, count);
    count -= taken;
    if (!run.is_packed) {
      if (!rows.repeats(run.level, taken)) return false;
      continue;
    }
    for (const std::uint8_t byte : run.packed) {
      const std::size_t here = std::min<std::size_t>(8, taken);
      if (here == 0) break;
      if (!rows.is_packed_in(byte, here)) return false;
      taken -= here;
    }
  }
  return true;
}

namespace {

using Bytes = std::span<const std::uint8_t>;

struct LevelRuns {
  Bytes repetition;
  Bytes definition;
};

/// Takes runs that follow their length in four bytes. `bytes` keeps the rest.
std::optional<Bytes> take_prefixed(Bytes& bytes) {
  constexpr std::size_t prefix = 4;
  if (bytes.size() < prefix) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < prefix; ++i) length |= static_cast<std::size_t>(bytes[i]) << (8 * i);
  if (bytes.size() - prefix < length) return std::nullopt;
  const Bytes runs = bytes.subspan(prefix, length);
  bytes = bytes.subspan(prefix + length);
  return runs;
}

std::optional<LevelRuns> level_runs(const parquet::DataPageV1& page, Bytes bytes) {
  if (page.repetition_level_encoding() != parquet::Encoding::RLE) return std::nullopt;
  if (page.definition_level_encoding() != parquet::Encoding::RLE) return std::nullopt;
  const std::optional<Bytes> repetition = take_prefixed(bytes);
  if (!repetition) return std::nullopt;
  const std::optional<Bytes> definition = take_prefixed(bytes);
  if (!definition) return std::nullopt;
  return LevelRuns{*repetition, *definition};
}

std::optional<LevelRuns> level_runs(const parquet::DataPageV2& page, Bytes bytes) {
  if (page.repetition_levels_byte_length() < 0 || page.definition_levels_byte_length() < 0) return std::nullopt;
  const auto repetition = static_cast<std::size_t>(page.repetition_levels_byte_length());
  const auto definition = static_cast<std::size_t>(page.definition_levels_byte_length());
  if (bytes.size() < repetition || bytes.size() - repetition < definition) return std::nullopt;
  return LevelRuns{bytes.first(repetition), bytes.subspan(repetition, definition)};
}

}  // namespace

std::shared_ptr<parquet::Page> VectorPages::NextPage() {
  std::shared_ptr<parquet::Page> page = pages_->NextPage();
  if (page && (page->type() == parquet::PageType::DATA_PAGE || page->type() == parquet::PageType::DATA_PAGE_V2)) {
    page_ = std::static_pointer_cast<parquet::DataPage>(page);
    ++count_;
  }
  return page;
}

std::size_t VectorPages::entries() const {
  return page_ && page_->num_values() > 0 ? static_cast<std::size_t>(page_->num_values()) : 0;
}

bool VectorPages::hold_only_rows(std::size_t width, std::size_t begun) const {
  if (!page_ || page_->size() < 0 || width == 0 || begun > width) return false;
  // A list always has definition levels, because it may be empty.
  const auto present = static_cast<std::uint16_t>(leaf_.max_definition_level());
  const Bytes bytes(page_->data(), static_cast<std::size_t>(page_->size()));
  std::optional<LevelRuns> levels;
  if (const auto* first = dynamic_cast<const parquet::DataPageV1*>(page_.get())) {
    levels = level_runs(*first, bytes);
  } else if (const auto* second = dynamic_cast<const parquet::DataPageV2*>(page_.get())) {
    levels = level_runs(*second, bytes);
  }
  if (!levels || present > 3) return false;
  return runs_form_rows(levels->repetition, width, begun == width ? 0 : begun, entries()) &&
         runs_repeat(levels->definition, std::bit_width(present), static_cast<std::uint8_t>(present), entries());
}

}  // namespace attention_plasticity
