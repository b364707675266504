#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attention_plasticity {

/// For tests: the target of a request, parsed. Parts, names and values are percent-decoded after they are separated, so
/// that an encoded slash separates nothing.
struct LoopbackTarget {
  explicit LoopbackTarget(std::string_view text);

  /// The parts from number `first` on, with slashes between them.
  std::string rest(std::size_t first) const;
  bool is_true(const std::string& name) const;
  std::size_t number(const std::string& name, std::size_t otherwise) const;

  std::string path;  ///< as received, without the query
  std::vector<std::string> parts;
  std::map<std::string, std::string> query;
};

}  // namespace attention_plasticity
