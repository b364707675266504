#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "attention_plasticity/hub/cache.h"
#include "attention_plasticity/hub/hub_client.h"
#include "attention_plasticity/hub/listing.h"

namespace attention_plasticity {

/// How a download tells what happens; calls come from its thread.
struct FileObserver {
  std::function<void(std::int64_t bytes)> arrived;  ///< fewer than none when what had arrived is fetched again
  std::function<void(const std::string&)> note;     ///< one line for the user: an attempt failed, and what follows
};

/// Brings one file of a commit into the cache, unless it is there. What arrives goes to a partial file that a later
/// call, or a later run, goes on with; the content's digest is checked before it counts. Throws Error(network) when
/// attempts do not help or the digest stays wrong, Error(output) when the disk is full, and Stopped.
void download_file(HubClient& client, const HubCache& cache, const std::string& commit, const RepoFile& file,
                   const FileObserver& observer, const std::stop_token& stop);

}  // namespace attention_plasticity
