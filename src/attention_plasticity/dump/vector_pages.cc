#include "attention_plasticity/dump/vector_pages.h"

#include <parquet/column_page.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <bit>
#include <optional>
#include <span>

#include "attention_plasticity/dump/level_runs.h"

namespace attention_plasticity {
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
