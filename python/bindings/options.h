#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "attention_plasticity/options/config.h"
#include "attention_plasticity/rotation.h"
#include "named_texts.h"

namespace attention_plasticity::python {

/// Every field of the configuration (named_texts.h).
nanobind::list field_list();

/// The rotation that the options describe, for arrays: there is no dump beside which a config.json could stand. None
/// when they describe none. Throws Error(usage).
std::optional<ModelRotation> rotation_of(const RunConfig& config);

}  // namespace attention_plasticity::python
