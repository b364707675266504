#include "attention_plasticity/dump/vector_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "attention_plasticity/base/finite.h"

namespace attention_plasticity {

std::span<float> VectorColumn::room(std::size_t most) {
  const std::size_t begin = room_.value_or(out_.size());
  const std::size_t free = out_.capacity() - begin;
  // The room ends where the reserved memory ends, because growing copies everything.
  out_.resize(begin + (free > 0 ? std::min(free, most) : most));
  room_ = begin;
  return std::span(out_).subspan(begin);
}

void VectorColumn::add_rows(std::size_t entries, std::size_t width) {
  const std::size_t begin = room_.value_or(out_.size());
  room_.reset();
  look_for_non_finite(std::span(out_).subspan(begin, entries));
  out_.resize(begin + entries);
  if (entries == 0) return;
  // A row is closed when the next one begins, so the last one stays open.
  const std::size_t since_row_began = open_ + entries;
  const std::size_t closed = (since_row_began - 1) / width;
  if (closed > 0) {
    open_ = width;
    close_row();
    rows_ += closed - 1;
  }
  open_ = since_row_began - closed * width;
}

void VectorColumn::look_for_non_finite(std::span<const float> components) {
  finite_ = finite_ && attention_plasticity::all_finite(components);
}

bool VectorColumn::add(const VectorChunk& chunk) {
  look_for_non_finite(chunk.values);
  // Checked now, because the memory may move when the width of the first row is known.
  const std::size_t begin = room_.value_or(out_.size());
  const bool in_place = room_ && chunk.values.data() == out_.data() + begin;
  room_.reset();
  std::size_t entry = 0;
  bool sound = true;
  while (sound && entry < chunk.definition.size()) {
    if (is_whole_row(chunk, entry)) {
      sound = close_row();
      if (!sound) break;
      open_ = width_;
      entry += width_;
    } else {
      sound = take_entry(chunk, entry);
      if (sound) ++entry;
    }
  }
  // Entries before a fault are not null, so each of them has a value.
  if (in_place) {
    out_.resize(begin + entry);
  } else {
    const auto taken = chunk.values.first(entry);
    out_.resize(begin);
    out_.insert(out_.end(), taken.begin(), taken.end());
  }
  return sound;
}

/// True if the entries from this one on are exactly one new row that breaks no rule. Nearly always true, so it is
/// tested without a branch per component.
bool VectorColumn::is_whole_row(const VectorChunk& chunk, std::size_t entry) const {
  if (width_ == 0 || chunk.definition.size() - entry < width_ || chunk.repetition[entry] != 0) return false;
  if (chunk.fitting < chunk.values.size() && chunk.fitting < entry + width_) return false;
  return all_are(chunk.definition.subspan(entry, width_), chunk.component_present) &&
         all_are(chunk.repetition.subspan(entry + 1, width_ - 1), 1);
}

bool VectorColumn::take_entry(const VectorChunk& chunk, std::size_t entry) {
  if (chunk.repetition[entry] == 0) {
    if (!close_row()) return false;
  } else if (open_ == 0) {
    throw std::runtime_error("a row group begins in the middle of a row");
  }
  const std::int16_t definition = chunk.definition[entry];
  if (definition < chunk.entry_present - 1) return refuse("vector is null");
  if (definition < chunk.entry_present) {
    return refuse(width_ == 0 ? "vector has no components"
                              : fmt::format("vector has 0 components where the rows before have {}", width_));
  }
  if (definition < chunk.component_present) return refuse(fmt::format("vector has a null component (index {})", open_));
  if (entry == chunk.fitting && chunk.fitting < chunk.values.size()) {
    return refuse(fmt::format("vector holds {}, too large for single precision,", chunk.unfit));
  }
  ++open_;
  return true;
}

bool VectorColumn::finish_group() { return close_row(); }

bool VectorColumn::close_row() {
  if (open_ == 0) return true;
  if (width_ == 0) {
    width_ = open_;
    out_.reserve(expected_rows_ > most_reserved_ / width_ ? most_reserved_ : expected_rows_ * width_);
  }
  if (open_ != width_) {
    return refuse(fmt::format("vector has {} components where the rows before have {}", open_, width_));
  }
  open_ = 0;
  ++rows_;
  return true;
}

bool VectorColumn::refuse(std::string message) {
  fault_ = RowFault{rows_, std::move(message)};
  return false;
}

}  // namespace attention_plasticity
