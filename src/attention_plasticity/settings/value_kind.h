#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attention_plasticity {

/// What a value is. It decides how YAML and JSON write it.
enum class ValueType { integer, number, boolean, text, word, indices, size, mapping };

/// The values that a field takes: how text becomes a value, and a value text.
template <class T>
struct ValueKind {
  ValueType type = ValueType::text;
  std::string value_name;  ///< stands for the value in the help: "N", "FILE", "mean|median"; empty for a boolean
  /// The value that a text means; none: null. Throws Error(usage) with a message that begins with the value. The caller
  /// puts the place of the setting before it.
  std::function<std::optional<T>(const std::string&)> parse;
  std::function<std::string(const T&)> print;
  bool null_is_value = false;  ///< null is stored as a value, and does not restore the default
};

// The kinds of values that fields have.
namespace values {

/// An integer in plain decimal: no leading zeros, no separators, no exponent.
ValueKind<std::uint64_t> integer(std::uint64_t low, std::uint64_t high);
/// An integer from `least` to 2^31 - 1.
ValueKind<std::uint64_t> count(std::uint64_t least = 1);
/// An integer from 0 to 2^31 - 1; null and 0 mean that there is no limit.
ValueKind<std::uint64_t> limit();
/// An integer from 0 to 2^64 - 1.
ValueKind<std::uint64_t> seed_number();

/// A finite number.
ValueKind<double> number();
/// A finite number greater than 0.
ValueKind<double> positive_number();
/// A finite number in (0, 1), or in (0, 1] with `one_included`.
ValueKind<double> share(bool one_included);

/// true, yes, on, 1 or false, no, off, 0, in any case.
ValueKind<bool> boolean();

/// UTF-8 text without NUL, which every file of the program can hold.
ValueKind<std::string> text();
ValueKind<std::string> text_or_empty();
/// Any bytes, such as the name of a file.
ValueKind<std::string> any_text(std::string value_name = "FILE");

/// Names with commas between them.
ValueKind<std::vector<std::string>> names();

/// One of the words, exactly as spelled. The value is its index, so that an enumeration in the same order can hold it.
ValueKind<std::size_t> word(std::vector<std::string_view> words);

/// Indices below 10,000 and ranges with both ends, `0-3,7`: ascending and without repetition. `all` means null.
ValueKind<std::vector<int>> indices();

/// A size of at least one byte: `8589934592`, `800MiB`, `1.5 GB`. Fractions are rounded to whole bytes.
ValueKind<std::uint64_t> size_in_bytes();

/// A JSON object. The value is its text on one line, with the keys in the order given.
ValueKind<std::string> json_object();

/// The values of a kind for which `check` does not throw Error(usage).
template <class T, class Check>
ValueKind<T> checked(ValueKind<T> kind, Check check) {
  kind.parse = [parse = kind.parse, check](const std::string& text) {
    std::optional<T> value = parse(text);
    if (value) check(*value);
    return value;
  };
  return kind;
}

}  // namespace values

/// What true, yes, on, 1 or false, no, off, 0 mean, in any case; none for any other word.
std::optional<bool> boolean_word(std::string_view text);

/// The index of `text` in `words`. Throws Error(usage), with the nearest word, when it is not there.
std::size_t word_index(std::string_view text, std::span<const std::string_view> words);

}  // namespace attention_plasticity
