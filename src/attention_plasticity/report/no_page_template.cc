// In place of the page, in a build without it.

#include "attention_plasticity/report/page_template.h"

namespace attention_plasticity {

std::string_view page_template() { return {}; }

}  // namespace attention_plasticity
