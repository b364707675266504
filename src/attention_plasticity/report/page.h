#pragma once

#include <string>
#include <string_view>

namespace attention_plasticity {

/// JSON text as it may stand in a script element: no character of it can end the element, open a comment or be taken
/// for markup. It stays the same JSON.
std::string json_in_script(std::string_view json);

/// The page with its data. `blocks` is base64, which needs no care.
std::string filled_page(std::string_view page_template, std::string_view json, std::string_view blocks);

}  // namespace attention_plasticity
