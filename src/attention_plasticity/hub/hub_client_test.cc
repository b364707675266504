#include "attention_plasticity/hub/hub_client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/hub_fixture_testing.h"

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
  settings.first_pause = std::chrono::hours(24);
  Patience patience(settings, 3);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(patience.wait({}, stop.get_token()), Stopped) << "and not after the pause of a day";
}

class Client : public HubTest {
 protected:
  Client() {
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

  int pauses_ = 0;
};

TEST_F(Client, DoesNotAskAgainAfterARefusal) {
  EXPECT_EQ(failure().kind(), ErrorKind::access);
  EXPECT_EQ(hub_.requests().size(), 1U);
}

TEST_F(Client, RefusesAnAnswerThatIsTooLong) {
  hub_.inject({HubHost::api, "", ""}, with_body(std::string(longest_answer + 1, ' ')));
  const Error error = failure();
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_NE(std::string(error.what()).find("the answer of 127.0.0.1 is longer than 32.0 MiB"), std::string::npos)
      << error.what();
}

TEST_F(Client, DoesNotWaitLongForAHubThatSaysNothing) {
  settings_.endpoint = "http://127.0.0.1:1";
  const Error error = failure();
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_EQ(std::string(error.what()).find("hf_secret"), std::string::npos) << error.what();
  EXPECT_EQ(pauses_, 2) << "though it may try six times";
}

// Sanitized, a million files would take two minutes.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Client, GivesUpAListingWithoutEnd) {
  std::string page;
  for (int i = 0; i < 50'000; ++i) {
    page += fmt::format(R"({}{{"type":"file","path":"{}","size":1,"oid":"{:040x}"}})", i == 0 ? "[" : ",", i, i);
  }
  int pages = 0;
  hub_.inject({HubHost::api, "", ""},
              {{},
               [&](LoopbackAnswer& answer) {
                 answer.status = 200;
                 answer.body = page + "]";
                 answer.headers = {{"Link", fmt::format("<?page={}>; rel=\"next\"", ++pages)}};
               }},
              1000);
  try {
    HubClient(settings_, "org/name").files(std::string(40, 'a'), {});
    FAIL() << "it ended";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::network);
    EXPECT_NE(std::string(error.what()).find("has no end: 1050000 files on 21 pages so far"), std::string::npos)
        << error.what();
  }
}
#endif

TEST_F(Client, GivesUpAnAnswerThatTricklesIn) {
  settings_.answer_timeout = seconds(1);
  LoopbackFault slow = with_body(std::string(100'000, ' '));
  const auto body = slow.change_answer;
  slow.change_answer = [body](LoopbackAnswer& answer) {
    body(answer);
    answer.status = 200;
    answer.bytes_per_second = 200;
  };
  hub_.inject({HubHost::api, "", ""}, slow, 10);
  try {
    HubClient(settings_, "org/name").revision("main", 1, {});
    FAIL() << "it arrived";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::network);
    EXPECT_NE(std::string(error.what()).find("1024 bytes/sec"), std::string::npos) << error.what();
  }
}

TEST_F(Client, GivesUpHeadersWithoutEnd) {
  LoopbackFault many{{}, [](LoopbackAnswer& answer) {
                       for (int i = 0; i < 200; ++i) {
                         answer.headers.emplace_back(fmt::format("X-Header-{}", i), std::string(8000, 'x'));
                       }
                     }};
  hub_.inject({HubHost::api, "", ""}, many, 10);
  const Error error = failure();
  EXPECT_EQ(error.kind(), ErrorKind::network) << error.what();
}

TEST_F(Client, DoesNotAskAgainWhereThatCannotHelp) {
  // The file of trusted certificates does not exist, so that no server is trusted.
  settings_.endpoint = "https" + hub_.endpoint().substr(std::string("http").size());
  settings_.ca_file = (folder_ / "none.pem").string();
  EXPECT_EQ(failure().kind(), ErrorKind::network);
  EXPECT_EQ(pauses_, 0);
}

}  // namespace
}  // namespace attention_plasticity
