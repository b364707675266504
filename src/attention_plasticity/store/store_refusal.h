#pragma once

#include <string>
#include <string_view>

#include "attention_plasticity/error.h"

namespace attention_plasticity {

/// What the words of a store's client mean: ErrorKind::access where there is no such bucket or no access to it, usage
/// for an address or a set-up that cannot work, input for a file that is not there, otherwise network.
ErrorKind refusal_kind(std::string_view words);

/// The words of a store's client in one short line, without the ids of requests.
std::string refusal_text(std::string_view words);

}  // namespace attention_plasticity
