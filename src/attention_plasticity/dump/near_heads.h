#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/dump/layout.h"

namespace attention_plasticity {

/// A head's side and numbers, from the name of its folder.
struct NamedHead {
  Side side;
  HeadKey head;
};

/// The head that a folder's name means; none unless the name is l, digits, h, digits and q or k, with at least
/// `least_digits` digits each and numbers up to most_head_number.
std::optional<NamedHead> parse_head_name(std::string_view name, std::ptrdiff_t least_digits = 2);

/// The entries of a dump's folder that look like heads but are none. Users are told of them, because a dump without
/// them is another dump.
class NearHeads {
 public:
  /// `file` of the sub-folder `folder`. Takes note of it if it would be a head under another name.
  void add(std::string_view folder, std::string_view file);
  /// A file beside the folders of heads.
  void add(std::string_view file);

  /// One line for each kind: what is left out, why, and the name it should have.
  std::vector<std::string> warnings() const;
  /// The same in a message about a folder without heads; empty if there is nothing of the kind. Here any Parquet file
  /// is named.
  std::string advice() const;

 private:
  std::set<std::string> few_digits_;     // l0h0q
  std::set<std::string> large_numbers_;  // l10000h00q
  std::set<std::string> compressed_;     // l00h00q/data.parquet.gz
  std::set<std::string> flat_;           // l00h00q.parquet
  std::set<std::string> other_;          // other Parquet files beside the folders
};

/// Names that data.parquet has when it is compressed.
std::span<const std::string_view> compressed_data_files();

}  // namespace attention_plasticity
