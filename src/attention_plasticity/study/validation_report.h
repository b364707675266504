#pragma once

#include <string>

#include "attention_plasticity/study/validation.h"

namespace attention_plasticity {

/// For people: labels as rows, measures as columns, cells such as `+0.74 [+0.52, +0.87]`; what does not exist is `-`.
/// Four measures fit into 120 columns.
std::string validation_table(const Validation& validation, const BootstrapOptions& bootstrap);

/// `statistic,label,measure,value,low,high,heads`: first the correlations (spearman), then the areas (auc), whose label
/// is `induction>0.1 above previous_token>0.25`. Numbers as in the tables of a run; what does not exist is empty.
std::string validation_csv(const Validation& validation);

/// One object with all of it; what does not exist is null.
std::string validation_json(const Validation& validation, const BootstrapOptions& bootstrap, const std::string& metrics,
                            const std::string& labels);

}  // namespace attention_plasticity
