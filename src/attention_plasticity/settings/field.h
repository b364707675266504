#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/settings/setting.h"
#include "attention_plasticity/settings/value_kind.h"

// A table of fields binds names to the members of an options struct. Flags, YAML files, help and run.json of a
// subcommand all follow its table:
//
//   const FieldTable<Options> table{
//       {"rows", values::count(), &Options::rows, "Rows of each file."},
//       {"window", values::count(), &Options::window, "Sliding window in tokens.", "full attention"},
//   };
//   const Options options = resolve(table, settings);

namespace attention_plasticity {

/// A field as users see it.
struct Field {
  std::string name;  ///< with underscores: `max_workers`
  ValueType type = ValueType::text;
  std::string value_name;    ///< stands for the value in the help; empty for a boolean
  std::string help;          ///< one sentence
  std::string default_text;  ///< the value, or a word for it: "discovered", "all"; empty: not shown
  std::string scope;         ///< what the field applies to: words with blanks between them; empty: everything
  bool null_is_value = false;
  std::string group = {};  ///< heading above it in the help: "The dump"; empty: none
  /// False: the figures of a run do not depend on it, so that parts of a run may differ in it.
  bool decides_figures = true;

  bool is_boolean() const { return type == ValueType::boolean; }
  bool applies_to(std::string_view word) const;
  /// The words of the scope with commas between them.
  std::string scope_text() const;
  /// "integer", "number", "boolean", "text", "one of a|b", "indices", "size" or "mapping".
  std::string type_text() const;
};

/// The value of a field of an options struct.
struct FieldValue {
  std::string name;
  ValueType type = ValueType::text;
  std::optional<std::string> text;  ///< none: null

  /// Text is written between quotes. Other values are JSON: "true", "0.01", "[0, 1, 7]".
  bool is_text() const { return text && (type == ValueType::text || type == ValueType::word); }
};

// How a member holds a value of kind T. A member that is not optional is empty or zero for null.
template <class Member, class T>
void store_value(Member& member, const std::optional<T>& value) {
  member = value ? static_cast<Member>(*value) : Member();
}
template <class Value, class T>
void store_value(std::optional<Value>& member, const std::optional<T>& value) {
  member = value ? std::optional<Value>(static_cast<Value>(*value)) : std::nullopt;
}
template <class T, class Member>
std::optional<T> load_value(const Member& member) {
  return static_cast<T>(member);
}
template <class T, class Value>
std::optional<T> load_value(const std::optional<Value>& member) {
  return member ? std::optional<T>(static_cast<T>(*member)) : std::nullopt;
}
template <class T, class Item>
std::optional<T> load_value(const std::vector<Item>& member) {
  return member.empty() ? std::nullopt : std::optional<T>(member);
}

/// A field and the member of Options that it sets.
template <class Options>
struct TypedField : Field {
  /// Stores the value of a text, or null. Throws Error(usage), without a place, when the text has no value.
  std::function<void(Options&, const std::optional<std::string>&)> set;
  /// The member as text; none: null.
  std::function<std::optional<std::string>(const Options&)> get;

  /// `member` is a pointer to a member, or a function from Options to a reference. `absent` describes a default that is
  /// null or empty; any other default is printed from a default-constructed Options.
  template <class T, class Member>
  TypedField(std::string field_name, const ValueKind<T>& kind, Member member, std::string field_help,
             const std::string& absent = {}, std::string field_scope = {})
      : Field{std::move(field_name),  kind.type,         kind.value_name, std::move(field_help), {},
              std::move(field_scope), kind.null_is_value} {
    set = [parse = kind.parse, member](Options& options, const std::optional<std::string>& text) {
      store_value(std::invoke(member, options), text ? parse(*text) : std::optional<T>());
    };
    get = [print = kind.print, member](const Options& options) {
      const std::optional<T> value = load_value<T>(std::invoke(member, options));
      return value ? std::optional<std::string>(print(*value)) : std::nullopt;
    };
    default_text = get(Options()).value_or("");
    if (default_text.empty()) default_text = absent;
  }
};

/// The fields of an options struct, in the order in which users see them.
template <class Options>
using FieldTable = std::vector<TypedField<Options>>;

/// A member of a member, for TypedField.
template <class Options, class Outer, class Inner>
auto nested(Outer Options::* outer, Inner Outer::* inner) {
  return [outer, inner](auto& options) -> auto& { return options.*outer.*inner; };
}

/// The fields of a table, without their bindings.
template <class Options>
std::vector<Field> descriptions(const FieldTable<Options>& table) {
  return {table.begin(), table.end()};
}

/// A group of fields in the help, and the name of its first field.
struct FieldGroup {
  std::string_view first;
  std::string_view name;
};

/// The fields with their groups: each group goes on until the next one begins.
std::vector<Field> with_groups(std::vector<Field> fields, std::span<const FieldGroup> groups);

/// None for an unknown name.
template <class SomeField>
const SomeField* find_field(const std::vector<SomeField>& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &SomeField::name);
  return found == fields.end() ? nullptr : &*found;
}

/// The end of a message about an unknown name: "; did you mean max_workers?", or nothing. `prefix` goes before the
/// suggestion ("--" for flags).
std::string field_suggestion(std::string_view name, std::string_view prefix, std::span<const Field> fields);

/// Throws Error(usage), with the nearest field.
[[noreturn]] void refuse_unknown(const Setting& setting, std::span<const Field> fields);

/// The last setting of each field that is set. Every setting is checked, also one that a later setting overrides.
/// Throws Error(usage), naming the place, for unknown fields and wrong values.
template <class Options>
SettingMap last_settings(const FieldTable<Options>& table, std::span<const Setting> settings) {
  SettingMap last;
  for (const Setting& setting : settings) {
    const TypedField<Options>* field = find_field(table, setting.field);
    if (field == nullptr) refuse_unknown(setting, descriptions(table));
    try {
      Options scratch;
      field->set(scratch, setting.value);
    } catch (const Error& error) {
      refuse(setting, error.what());
    }
    last.erase(setting.field);
    if (setting.value || field->null_is_value) last.emplace(setting.field, setting);
  }
  return last;
}

/// The defaults of Options with these settings applied, which last_settings has checked.
template <class Options>
Options with_settings(const FieldTable<Options>& table, const SettingMap& settings) {
  Options options;
  for (const auto& [name, setting] : settings) find_field(table, name)->set(options, setting.value);
  return options;
}

/// The options that the settings describe: the last setting of a field counts, and null restores its default.
template <class Options>
Options resolve(const FieldTable<Options>& table, std::span<const Setting> settings) {
  return with_settings(table, last_settings(table, settings));
}

/// The value of every field.
template <class Options>
std::vector<FieldValue> field_values(const FieldTable<Options>& table, const Options& options) {
  std::vector<FieldValue> values;
  for (const TypedField<Options>& field : table) values.push_back({field.name, field.type, field.get(options)});
  return values;
}

/// Throws Error(usage) for the first setting, other than null, whose field does not apply to `word`. The message names
/// `context`, such as "plot heatmap".
void check_scope(std::span<const Setting> settings, const std::vector<Field>& fields, std::string_view word,
                 std::string_view context);

}  // namespace attention_plasticity
