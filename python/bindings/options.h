#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/rotation.h"
#include "attention_plasticity/run/config.h"

namespace attention_plasticity::python {

/// Names of fields and their values as text, none for null: the keyword arguments of a call.
using NamedTexts = std::vector<std::pair<std::string, std::optional<std::string>>>;

std::vector<Setting> settings_of(const NamedTexts& options);

/// Every field of the configuration, as a list of dicts: name, type, help, default (as text; None for null),
/// default_text (for people), group.
nanobind::list field_list();

/// The rotation that the options describe, for arrays: there is no dump beside which a config.json could stand. None
/// when they describe none. Throws Error(usage).
std::optional<ModelRotation> rotation_of(const RunConfig& config);

}  // namespace attention_plasticity::python
