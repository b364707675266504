#include "attention_plasticity/dump/vector_column.h"

#include <fmt/format.h>

#include <stdexcept>

namespace attention_plasticity {

bool VectorColumn::add(const VectorChunk& chunk) {
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
  // Entries before a fault are not null, so each has its value.
  const auto taken = chunk.values.first(entry);
  out_.insert(out_.end(), taken.begin(), taken.end());
  return sound;
}

/// True when the entries from this one on are exactly a new row without fault: nearly always, and tested without a
/// branch per component.
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
