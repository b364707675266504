#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "attention_plasticity/measure/head_outcome.h"

// The outcome of a head as bytes, exact to the last bit of every number, so that a run can be interrupted or split.
//
//     8 bytes    "APhead" and the version of the format, as a number in the byte order of the machine
//     the rest   the members of HeadOutcome in the order of outcome_bytes.cc. Numbers have 8 bytes; texts, lists and
//                values that may be absent begin with their number of items.
//     64 bytes   SHA-256 of all that stands before, in hexadecimal
//
// A machine of the other byte order reads another first number and refuses the bytes. CBOR was considered: it needs as
// many lines to name each member, and its numbers take a byte more.

namespace attention_plasticity {

/// Gives the bytes of an outcome to `sink`, piece by piece.
void write_outcome(const HeadOutcome& outcome, const std::function<void(std::string_view)>& sink);
std::string outcome_bytes(const HeadOutcome& outcome);

/// The outcome whose bytes these are. Throws Error(input) for bytes that are damaged, cut off, too long or of another
/// version of the format.
HeadOutcome outcome_of_bytes(std::string_view bytes);

}  // namespace attention_plasticity
