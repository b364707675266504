#pragma once

#include <string>

#include "attention_plasticity/evaluation/validation.h"

namespace attention_plasticity {

/// A table for people, with labels as rows and measures as columns. A cell is `+0.74 [+0.52, +0.87]`, or `-` when there
/// is no value. Four measures fit into 120 columns.
std::string validation_table(const Validation& validation, const BootstrapOptions& bootstrap);

/// `statistic,label,measure,value,low,high,heads`: first the correlations (spearman), then the areas (auc), whose label
/// is `induction>0.1 above previous_token>0.25`. Numbers have the form of a run's tables; a missing value is empty.
std::string validation_csv(const Validation& validation);

/// One JSON object with everything; a missing value is null.
std::string validation_json(const Validation& validation, const BootstrapOptions& bootstrap, const std::string& metrics,
                            const std::string& labels);

}  // namespace attention_plasticity
