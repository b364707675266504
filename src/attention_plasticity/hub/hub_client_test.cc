#include "attention_plasticity/hub/hub_client.h"

#include <gtest/gtest.h>

#include <chrono>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/hub/loopback_hub_testing.h"

namespace attention_plasticity {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Patience, WaitsNoLongerThanHalfAMinuteUnasked) {
  std::vector<milliseconds> pauses;
  HubSettings settings;
  settings.pause = [&](milliseconds time) { pauses.push_back(time); };
  Patience patience(settings, 20);
  while (patience.wait({}, {})) {
  }
  ASSERT_EQ(pauses.size(), 19U);
  EXPECT_EQ(pauses[4], 16 * settings.first_pause);
  EXPECT_EQ(pauses[5], seconds(30));
  EXPECT_EQ(pauses.back(), seconds(30));
}

TEST(Patience, EndsWithAStopRequest) {
  HubSettings settings;
  settings.first_pause = seconds(20);
  Patience patience(settings, 3);
  std::stop_source stop;
  stop.request_stop();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(patience.wait({}, stop.get_token()), Stopped);
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
}

class Client : public ::testing::Test {
 protected:
  Client() {
    settings_.endpoint = hub_.endpoint();
    settings_.token = "hf_secret";
    settings_.pause = [this](milliseconds) { ++pauses_; };
    hub_.accept_token("hf_secret");
  }

  // The error of looking up a dataset.
  Error failure() {
    try {
      HubClient(settings_, "org/nothing").revision("main", settings_.attempts, {});
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorKind::output, "no error");
  }

  LoopbackHub hub_;
  HubSettings settings_;
  int pauses_ = 0;
};

TEST_F(Client, DoesNotAskAgainAfterARefusal) {
  EXPECT_EQ(failure().kind(), ErrorKind::access);
  EXPECT_EQ(hub_.requests().size(), 1U);
}

TEST_F(Client, DoesNotWaitLongForAHubThatSaysNothing) {
  settings_.endpoint = "http://127.0.0.1:1";
  const Error error = failure();
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_EQ(std::string(error.what()).find("hf_secret"), std::string::npos) << error.what();
  EXPECT_EQ(pauses_, 2) << "though it may try six times";
}

TEST_F(Client, DoesNotAskAgainWhereThatCannotHelp) {
  const TemporaryFolder folder;
  // Without the file that says which certificates to trust, none is.
  settings_.endpoint = "https" + hub_.endpoint().substr(std::string("http").size());
  settings_.ca_file = (folder / "none.pem").string();
  EXPECT_EQ(failure().kind(), ErrorKind::network);
  EXPECT_EQ(pauses_, 0);
}

}  // namespace
}  // namespace attention_plasticity
