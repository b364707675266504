#include "attention_plasticity/report/page.h"

#include <stdexcept>

namespace attention_plasticity {
namespace {

// The text before and after a mark.
std::pair<std::string_view, std::string_view> parted(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) throw std::logic_error("the page has no place for its data");
  return {text.substr(0, at), text.substr(at + mark.size())};
}

}  // namespace

std::string json_in_script(std::string_view json) {
  // In JSON these characters occur only within strings, where \u00XX means the same character. U+2028 and U+2029 end a
  // line of JavaScript. They are harmless in JSON, but escaped for tools that read the element as a script.
  std::string text;
  text.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view three = json.substr(i, 3);
    if (json[i] == '<') {
      text += "\\u003c";
    } else if (json[i] == '>') {
      text += "\\u003e";
    } else if (json[i] == '&') {
      text += "\\u0026";
    } else if (three == "\xe2\x80\xa8" || three == "\xe2\x80\xa9") {
      text += three == "\xe2\x80\xa8" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += json[i];
    }
  }
  return text;
}

std::string filled_page(std::string_view page_template, std::string_view json, std::string_view blocks) {
  const auto [start, rest] = parted(page_template, "%REPORT_HEAD%");
  const auto [middle, end] = parted(rest, "%REPORT_BLOCKS%");
  const std::string head = json_in_script(json);
  std::string page;
  page.reserve(page_template.size() + head.size() + blocks.size());
  page.append(start).append(head).append(middle).append(blocks).append(end);
  return page;
}

}  // namespace attention_plasticity
