#include "attention_plasticity/settings/field.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace attention_plasticity {
namespace {

enum class Mode { fast, exact };

struct Inner {
  double share = 0.25;
};

struct Options {
  int rows = 1000;
  std::optional<std::size_t> tokens = 50;
  std::optional<int> window;
  std::vector<int> layers;
  Mode mode = Mode::exact;
  std::optional<Mode> other;
  bool keep_missing = false;
  std::filesystem::path file;
  Inner inner;
};

const FieldTable<Options>& table() {
  static const FieldTable<Options> fields{
      {"rows", values::count(), &Options::rows, "Rows."},
      {"tokens", values::limit(), &Options::tokens, "Tokens."},
      {"window", values::count(), &Options::window, "Window.", "full attention", "lines maps"},
      {"layers", values::indices(), &Options::layers, "Layers.", "all", "maps"},
      {"mode", values::word({"fast", "exact"}), &Options::mode, "Mode."},
      {"other", values::word({"fast", "exact"}), &Options::other, "Other.", "as mode"},
      {"missing", values::word({"error", "full"}), &Options::keep_missing, "Missing."},
      {"file", values::text(), &Options::file, "File.", "none"},
      {"share", values::share(true), nested(&Options::inner, &Inner::share), "Share."},
  };
  return fields;
}

Options resolved(const std::vector<Setting>& settings) { return resolve(table(), settings); }

template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(FieldTable, PrintsDefaultsFromTheOptions) {
  const auto default_of = [](std::string_view name) { return find_field(table(), name)->default_text; };
  EXPECT_EQ(default_of("rows"), "1000");
  EXPECT_EQ(default_of("tokens"), "50");
  EXPECT_EQ(default_of("window"), "full attention");
  EXPECT_EQ(default_of("layers"), "all");
  EXPECT_EQ(default_of("mode"), "exact");
  EXPECT_EQ(default_of("other"), "as mode");
  EXPECT_EQ(default_of("missing"), "error");
  EXPECT_EQ(default_of("file"), "none");
  EXPECT_EQ(default_of("share"), "0.25");
}

TEST(FieldTable, NeverShowsAWordInPlaceOfADefaultThatPrints) {
  const FieldTable<Options> fields{{"rows", values::count(), &Options::rows, "Rows.", "7"}};
  EXPECT_EQ(fields[0].default_text, "1000");
}

TEST(Resolve, SetsTheMembers) {
  const Options options = resolved({{"rows", "7", "x"},
                                    {"window", "8", "x"},
                                    {"layers", "0-2", "x"},
                                    {"mode", "fast", "x"},
                                    {"other", "exact", "x"},
                                    {"missing", "full", "x"},
                                    {"file", "a/b", "x"},
                                    {"share", "0.5", "x"}});
  EXPECT_EQ(options.rows, 7);
  EXPECT_EQ(options.window, 8);
  EXPECT_EQ(options.layers, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(options.mode, Mode::fast);
  EXPECT_EQ(options.other, Mode::exact);
  EXPECT_TRUE(options.keep_missing);
  EXPECT_EQ(options.file, "a/b");
  EXPECT_EQ(options.inner.share, 0.5);
}

TEST(Resolve, LetsTheLastSettingCountAndNullRestoreTheDefault) {
  EXPECT_EQ(resolved({{"rows", "7", "x"}, {"rows", "8", "x"}}).rows, 8);
  EXPECT_EQ(resolved({{"rows", "7", "x"}, {"rows", std::nullopt, "x"}}).rows, 1000);
  EXPECT_EQ(resolved({{"layers", "3", "x"}, {"layers", "all", "x"}}).layers, std::vector<int>{});
}

TEST(Resolve, TakesNullForAValueWhereItIsOne) {
  EXPECT_EQ(resolved({}).tokens, 50U);
  EXPECT_EQ(resolved({{"tokens", std::nullopt, "x"}}).tokens, std::nullopt);
  EXPECT_EQ(resolved({{"tokens", "0", "x"}}).tokens, std::nullopt);
  EXPECT_EQ(resolved({{"tokens", std::nullopt, "x"}, {"tokens", "9", "x"}}).tokens, 9U);
}

TEST(Resolve, NamesThePlaceOfWhatItRefuses) {
  EXPECT_EQ(refusal([] { resolved({{"rows", "0", "x.yaml:3"}}); }),
            "x.yaml:3: rows: 0 is out of range; it must lie between 1 and 2147483647");
  EXPECT_EQ(refusal([] { resolved({{"rows", "many", "--rows"}, {"rows", "1", "--rows"}}); }),
            "--rows: many is not an integer in plain decimal");
  EXPECT_EQ(refusal([] { resolved({{"rwos", "1", "--rwos"}}); }), "--rwos: unknown flag; did you mean --rows?");
  EXPECT_EQ(refusal([] { resolved({{"rwos", "1", "x.yaml:1"}}); }), "x.yaml:1: rwos: unknown key; did you mean rows?");
}

TEST(Values, RefuseAHomeFolderThatOnlyAShellExpands) {
  const auto refusal = [](const ValueKind<std::string>& kind, const std::string& text) -> std::string {
    try {
      kind.parse(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return {};
  };
  for (const ValueKind<std::string>& kind : {values::text(), values::any_text()}) {
    for (const std::string text : {"~/dump", "~", "~me/dump", "~/"}) {
      EXPECT_EQ(refusal(kind, text),
                text + " begins with ~, which only a shell expands; write the whole path, such as /home/me/dump");
    }
    for (const char* text : {"a~/b", "./~/dump", "~a b/c", "~x", "old~"}) EXPECT_EQ(refusal(kind, text), "") << text;
  }
}

TEST(FlagSetting, ReadsDashesAndNull) {
  const Setting setting = flag_setting("--max-workers", "4");
  EXPECT_EQ(setting.field, "max_workers");
  EXPECT_EQ(setting.value, "4");
  EXPECT_EQ(setting.place(), "--max-workers");
  EXPECT_EQ(flag_setting("--rows", "null").value, std::nullopt);
}

TEST(FieldValues, AreInTheOrderOfTheTable) {
  const std::vector<FieldValue> values = field_values(table(), Options());
  ASSERT_EQ(values.size(), table().size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i].name, table()[i].name);
  EXPECT_EQ(values[0].text, "1000");
  EXPECT_FALSE(values[0].is_text());
  EXPECT_EQ(values[2].text, std::nullopt);
  EXPECT_EQ(values[4].text, "exact");
  EXPECT_TRUE(values[4].is_text());
}

TEST(CheckScope, RefusesFieldsThatDoNotApply) {
  const auto check = [](const Setting& setting, std::string_view word) {
    return refusal([&] { check_scope({&setting, 1}, descriptions(table()), word, "a picture"); });
  };
  EXPECT_EQ(check({"window", "1", "--window"}, "bars"), "--window: does not apply to a picture; it is for lines, maps");
  EXPECT_EQ(check({"window", "1", "--window"}, "maps"), "no error");
  EXPECT_EQ(check({"window", "1", "--window"}, "map"), "--window: does not apply to a picture; it is for lines, maps");
  EXPECT_EQ(check({"window", std::nullopt, "--window"}, "bars"), "no error");
  EXPECT_EQ(check({"rows", "1", "--rows"}, "bars"), "no error");
}

}  // namespace
}  // namespace attention_plasticity
