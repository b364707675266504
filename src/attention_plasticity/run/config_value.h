#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attention_plasticity {

// What the text of a setting means, type by type. Each throws Error(usage) with a message that starts with the value
// and knows nothing of its place: who has the setting puts the place before it.

/// Text that any file of the program can hold: UTF-8 without NUL.
std::string config_plain_text(std::string_view text, bool may_be_empty);

/// An integer in plain decimal: no leading zeros, no separators, no exponent.
std::uint64_t config_integer(std::string_view text, std::uint64_t low, std::uint64_t high);

/// A finite number in (0, 1), or in (0, 1] with `one_included`.
double config_share(std::string_view text, bool one_included);

/// A finite number.
double config_number(std::string_view text);

/// A finite number above 0.
double config_positive_number(std::string_view text);

/// A JSON object, in one spelling: on one line, keys in the order given.
std::string config_mapping(std::string_view text);

/// What true, yes, on, 1 or false, no, off, 0 mean, in any case; none for any other word.
std::optional<bool> boolean_word(std::string_view text);

/// The same, refusing other words.
bool config_boolean(std::string_view text);

/// Index of `text` in `words`, exactly as spelled there.
std::size_t config_word(std::string_view text, std::span<const std::string_view> words);

/// Indices and ranges with both ends, `0-3,7`: ascending and without repetition. Indices lie below 10,000.
std::vector<int> config_indices(std::string_view text);

/// A size of at least one byte: `8589934592`, `800MiB`, `1.5 GB`. Fractions are rounded to whole bytes.
std::uint64_t config_bytes(std::string_view text);

}  // namespace attention_plasticity
