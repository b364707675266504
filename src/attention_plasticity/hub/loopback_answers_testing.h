#pragma once

#include <string>
#include <string_view>

#include "attention_plasticity/hub/loopback_repo_testing.h"
#include "attention_plasticity/hub/loopback_server_testing.h"
#include "attention_plasticity/hub/loopback_target_testing.h"

namespace attention_plasticity {

// For tests: the answers of LoopbackHub.

/// An answer of the API.
LoopbackAnswer json_answer(std::string json);

/// A refusal of the API. `message` may quote the request; characters that a header cannot hold become question marks.
LoopbackAnswer refusal(int status, std::string_view code, std::string message);

/// A refusal of the storage.
LoopbackAnswer storage_refusal(int status, std::string_view code);

/// One page of a listing, with the address of the next page.
LoopbackAnswer tree_answer(const std::string& origin, const LoopbackTarget& target, const LoopbackRepo& repo,
                           const LoopbackSnapshot& snapshot, const std::string& folder);

/// Makes the content, or the part of it that the request asks for, the body of an answer.
void put_content(LoopbackAnswer& answer, const LoopbackRequest& request, const std::string& content);

}  // namespace attention_plasticity
