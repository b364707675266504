#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "attention_plasticity/hub/cache.h"
#include "attention_plasticity/hub/hub_client.h"
#include "attention_plasticity/hub/listing.h"

namespace attention_plasticity {

/// Gets the events of one download, on the thread of the download.
struct FileObserver {
  std::function<void(std::int64_t bytes)> arrived;  ///< Negative when a restart discards bytes.
  std::function<void(const std::string&)> note;     ///< one line for the user about an attempt that failed
};

/// Downloads one file of a commit into the cache, unless the cache has it. Bytes go to a partial file, which a later
/// call or a later run resumes. The file appears in the cache only after its digest was checked. Throws Error(network)
/// when no attempt is left or the digest is wrong repeatedly, Error(output) when the disk is full, and Stopped.
void download_file(HubClient& client, const HubCache& cache, const std::string& commit, const RepoFile& file,
                   const FileObserver& observer, const std::stop_token& stop);

}  // namespace attention_plasticity
