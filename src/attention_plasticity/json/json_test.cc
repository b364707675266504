#include "attention_plasticity/json/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace attention_plasticity {
namespace {

using nlohmann::json;

std::string refusal(const std::string& text, const JsonRules& rules = {}) {
  try {
    parse_json(text, rules);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), rules.kind);
    EXPECT_EQ(error.file(), rules.file);
    return error.what();
  }
  return "nothing";
}

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(ParseJson, NamesTheLineOrTheByteOfWhatIsNotJson) {
  EXPECT_EQ(refusal(""), "line 1: is not valid JSON");
  EXPECT_EQ(refusal("{\n\n  x"), "line 3: is not valid JSON");
  EXPECT_EQ(refusal("[1,\n2"), "line 2: is not valid JSON");
  EXPECT_EQ(refusal("[\"\n\"]"), "line 1: is not valid JSON");
  EXPECT_EQ(refusal("[] []"), "line 1: is not valid JSON");
  EXPECT_EQ(refusal("", {.subject = "it"}), "it is not valid JSON (at byte 1)");
  EXPECT_EQ(refusal("{\"a\": NaN}", {.subject = "it"}), "it is not valid JSON (at byte 7)");
  EXPECT_EQ(refusal("{\"a\": \"\xff\"}", {.subject = "it"}), "it is not valid JSON (at byte 8)");
}

TEST(ParseJson, NamesItsSubjectFileAndKind) {
  EXPECT_EQ(refusal("[1e999]", {.file = "a.json", .subject = "rope_scaling", .kind = ErrorKind::usage}),
            "rope_scaling holds a number that is too large");
}

TEST(ParseJson, RefusesNestingBeyondItsLevels) {
  EXPECT_EQ(parse_json(nested(64), {}).size(), 1U);
  EXPECT_EQ(refusal(nested(65)), "is nested more than 64 levels deep");
  EXPECT_EQ(refusal(nested(1'000'000)), "is nested more than 64 levels deep");
  EXPECT_EQ(refusal(R"({"a": {"b": []}})", {.most_levels = 2}), "is nested more than 2 levels deep");
  EXPECT_EQ(refusal(R"([{"a": []}, {"b": []}, "[[[["])", {.most_levels = 3}), "nothing");
}

std::string object_of_keys(std::size_t count) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  return text + "}";
}

// 100,000 keys took 16 s.
TEST(ParseJson, RefusesManyKeysInOneObjectWhereTheirOrderIsKept) {
  EXPECT_EQ(parse_json<Json>(object_of_keys(most_ordered_keys), {}).size(), most_ordered_keys);
  EXPECT_EQ(parse_json<Json>("[" + object_of_keys(600) + "," + object_of_keys(600) + "]", {}).size(), 2U);
  EXPECT_EQ(parse_json(object_of_keys(100'000), {}).size(), 100'000U);
  try {
    parse_json<Json>("[" + object_of_keys(100'000) + "]", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "has an object with more than 1000 keys, which no file of this program has");
  }
}

TEST(ParseJson, RefusesLongText) {
  EXPECT_EQ(refusal("[1] ", {.most_bytes = 4}), "nothing");
  EXPECT_EQ(refusal(std::string(2048, ' ') + "1", {.most_bytes = 2048}), "is longer than 2.0 KiB");
}

TEST(ParseJson, RefusesAKeyTwiceInOneObjectWhereKeysAreUnique) {
  const std::string twice = R"({"a": 1, "b": [{"a": 1}, {"a": 2}], "a": 3})";
  EXPECT_EQ(refusal(twice, {.unique_keys = true}), "holds the key 'a' twice");
  EXPECT_EQ(refusal(R"({"a": 1, "b": [{"a": 1}, {"a": 2}]})", {.unique_keys = true}), "nothing");
  EXPECT_EQ(parse_json(twice, {})["a"], 3);
  EXPECT_EQ(parse_json<Json>(twice, {})["a"], 3);
}

TEST(ParseJson, KeepsTheOrderOfKeysInJson) {
  EXPECT_EQ(parse_json<Json>(R"({"b": 1, "a": 2})", {}).dump(), R"({"b":1,"a":2})");
  EXPECT_EQ(parse_json(R"({"b": 1, "a": 2})", {}).dump(), R"({"a":2,"b":1})");
}

// Time in proportion to the text: with nlohmann's parser callback this takes an hour.
TEST(ParseJson, ReadsAMillionObjectsInOneList) {
  std::string text = "[{}";
  for (int i = 1; i < 1'000'000; ++i) text += ",{}";
  EXPECT_EQ(parse_json(text + "]", {.unique_keys = true}).size(), 1'000'000U);
}

RC_GTEST_PROP(ParseJson, TakesWhatTheLibraryTakesAndNothingElse, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("[", "]", "{", "}", "\"a\"", ":", ",", "1", "-", "null", "\n", "\xff"));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  RC_ASSERT((refusal(text) == "nothing") == json::accept(text));
}

TEST(ParseJsonObject, RefusesOtherValues) {
  const auto refused = [](const char* text) -> std::string {
    try {
      parse_json_object(text, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(refused("{}"), "nothing");
  EXPECT_EQ(refused("[1, 2]"), "is a list of 2; a JSON object is expected");
  EXPECT_EQ(refused("\"\\u00e9\""), "is \"\\u00e9\"; a JSON object is expected");
  EXPECT_EQ(refused("null"), "is null; a JSON object is expected");
}

TEST(FindField, IsNullForWhatIsMissing) {
  const json object{{"a", 1}, {"b", nullptr}};
  EXPECT_EQ(*find_field(object, "a"), 1);
  EXPECT_EQ(find_field(object, "b"), nullptr);
  EXPECT_EQ(find_field(object, "c"), nullptr);
  EXPECT_EQ(find_field(json::array({1}), "a"), nullptr);
}

TEST(WholeNumber, LiesWithinItsBounds) {
  EXPECT_EQ(whole_number(512, 1, 512), 512);
  EXPECT_EQ(whole_number(512.0, 1, 512), 512);
  EXPECT_EQ(whole_number(-3, -3, 0), -3);
  for (const json& other : {json(513), json(0), json(1.5), json(1e300), json("1"), json(true), json(nullptr),
                            json(18446744073709551615U), json(std::nan(""))}) {
    EXPECT_FALSE(whole_number(other, 1, 512)) << other;
  }
}

TEST(Recorded, IsTheValueWhereItsTypeCanHoldIt) {
  EXPECT_EQ(recorded<int>(json(-3)), -3);
  EXPECT_EQ(recorded<std::uint64_t>(json(18446744073709551615U)), 18446744073709551615U);
  EXPECT_EQ(recorded<std::string>(json("text")), "text");
  EXPECT_EQ(recorded_or_none<std::int64_t>(json(nullptr)), std::nullopt);
  EXPECT_EQ(recorded_or_none<std::int64_t>(json(7)), 7);
  EXPECT_EQ(recorded_list<std::vector<int>>(json({2, 1})), (std::vector<int>{2, 1}));
  for (const json& other : {json(2147483648), json(-2147483649), json(1.0), json(1e94), json(-1e94), json(std::nan("")),
                            json("1"), json(true), json(nullptr), json(18446744073709551615U)}) {
    EXPECT_THROW(recorded<int>(other), json::exception) << other;
    EXPECT_THROW(recorded_list<std::vector<int>>(json::array({other})), json::exception) << other;
  }
  EXPECT_THROW(recorded<std::size_t>(json(-1)), json::exception);
  EXPECT_THROW(recorded_list<std::vector<int>>(json(3)), json::exception);
}

TEST(WholeNumberField, NamesThePlaceOfAnotherValue) {
  const json object{{"layer", 3}};
  EXPECT_EQ(whole_number_field(object, "layer", 0, 3, "heads[0].", "plan.json"), 3);
  for (const char* key : {"layer", "head"}) {
    try {
      whole_number_field(object, key, 0, 2, "heads[0].", "plan.json");
      FAIL() << key;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), std::string("heads[0].") + key + " should be a whole number from 0 to 2");
      EXPECT_EQ(error.file(), "plan.json");
    }
  }
}

TEST(ShownJson, IsOneShortLineOfAscii) {
  EXPECT_EQ(shown_json(json(std::string(5000, 'x'))), "\"" + std::string(59, 'x') + "...");
  EXPECT_EQ(shown_json("\n\xc3\xa9"), "\"\\n\\u00e9\"");
  EXPECT_EQ(shown_json(json::object({{"a", 1}})), "an object");
}

TEST(JsonText, ReplacesBytesThatAreNotUtf8AndWritesNanAsNull) {
  EXPECT_EQ(json_text(Json{{"b", "\xff"}, {"a", std::nan("")}}), "{\"b\":\"\xef\xbf\xbd\",\"a\":null}");
  EXPECT_EQ(json_text(Json::array({1}), 2), "[\n  1\n]");
  EXPECT_EQ(json_text(Json::array({value_or_null(std::optional<int>()), value_or_null(std::optional(3))})), "[null,3]");
}

}  // namespace
}  // namespace attention_plasticity
