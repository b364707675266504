#pragma once

#include <string>
#include <string_view>

namespace attention_plasticity {

/// JSON text that is safe in a script element: none of its characters can end the element, open a comment or be read as
/// markup. It parses to the same value.
std::string json_in_script(std::string_view json);

/// The page with its data. `blocks` is base64, which needs no escaping.
std::string filled_page(std::string_view page_template, std::string_view json, std::string_view blocks);

}  // namespace attention_plasticity
