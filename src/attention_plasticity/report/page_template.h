#pragma once

#include <string_view>

namespace attention_plasticity {

/// The page that is built from web/, without data: %REPORT_HEAD% and %REPORT_BLOCKS% stand once each where they go.
std::string_view page_template();

}  // namespace attention_plasticity
