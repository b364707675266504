#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/hub.h"
#include "attention_plasticity/hub/downloads.h"
#include "attention_plasticity/hub/loopback_hub_testing.h"
#include "attention_plasticity/hub/snapshot.h"

namespace attention_plasticity {

inline const HubRequestPattern of_storage{HubHost::storage, "", ""};

/// For tests: a LoopbackHub, a folder for the cache, and settings that use both and do not pause.
class HubTest : public ::testing::Test {
 protected:
  HubTest() {
    settings_.endpoint = hub_.endpoint();
    settings_.cache = folder_ / "cache";
    settings_.pause = [](std::chrono::milliseconds) {};
  }

  /// The snapshot of a revision. Its notes go to `notes_`.
  Snapshot open(const std::string& revision = "main", const std::string& repo = "org/name") {
    return {settings_, repo, revision, notes_, {}};
  }

  /// Adds the lines for the user to `notes_`.
  DownloadObserver observer() {
    return {[](const RepoFile&, const DownloadProgress&) {},
            [this](const std::string& note) { notes_.push_back(note); }};
  }

  DownloadProgress fetch_all(Snapshot& snapshot, int workers = 8) {
    Downloads downloads(snapshot, snapshot.missing(snapshot.paths(), {}), workers, observer(), {});
    while (!downloads.wait_for_all(std::chrono::seconds(10))) {
    }
    return downloads.progress();
  }

  TemporaryFolder folder_;
  LoopbackHub hub_;
  HubSettings settings_;
  std::vector<std::string> notes_;
};

}  // namespace attention_plasticity
