#include "attention_plasticity/report/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "attention_plasticity/report/page_template.h"

namespace attention_plasticity {
namespace {

TEST(Page, NoTextEndsItsScriptElement) {
  const nlohmann::json json{{"name", "</script><script>alert(1)</script><!--&\"'\\ \u2028\u2029 \u00e9"}};
  const std::string text = json_in_script(json.dump());
  for (const char* piece : {"<", ">", "&", "\u2028", "\u2029"}) EXPECT_EQ(text.find(piece), std::string::npos) << piece;
  EXPECT_EQ(nlohmann::json::parse(text), json);
}

TEST(Page, DataReplaceTheMarks) {
  EXPECT_EQ(filled_page("a%REPORT_HEAD%b%REPORT_BLOCKS%c", R"({"x":"<%REPORT_BLOCKS%"})", "QQ=="),
            R"(a{"x":"\u003c%REPORT_BLOCKS%"}bQQ==c)");
}

TEST(Page, TemplateIsAWholePageThatLoadsNothing) {
  const std::string page(page_template());
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  for (const char* mark : {"%REPORT_HEAD%", "%REPORT_BLOCKS%"}) {
    const std::size_t at = page.find(mark);
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(page.find(mark, at + 1), std::string::npos);
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.find(" src=\"http"), std::string::npos);
}

}  // namespace
}  // namespace attention_plasticity
