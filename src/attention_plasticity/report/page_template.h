#pragma once

#include <string_view>

namespace attention_plasticity {

/// The page that is built from web/, without data. The marks %REPORT_HEAD% and %REPORT_BLOCKS% occur once each, where
/// the data belong. Empty in a build without the page.
std::string_view page_template();

}  // namespace attention_plasticity
