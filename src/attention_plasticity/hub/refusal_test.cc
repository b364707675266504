#include "attention_plasticity/hub/refusal.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attention_plasticity/hub/http_headers_testing.h"

namespace attention_plasticity {
namespace {

constexpr std::chrono::system_clock::time_point now{std::chrono::sys_days{std::chrono::year{2015} / 10 / 21}};

RefusalReason reason_of(int status, const std::vector<std::string>& lines, bool has_token = false) {
  return refusal_reason(status, headers_of(lines), has_token);
}

HubQuestion question(bool has_token) { return {"https://hub.test", "org/name", "v2", "a/b.parquet", has_token}; }

Error error_of(int status, const std::vector<std::string>& lines, bool has_token = false) {
  return refusal_error(question(has_token), status, headers_of(lines), now);
}

std::string message_of(int status, const std::vector<std::string>& lines, bool has_token = false) {
  return error_of(status, lines, has_token).what();
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// One answer for each reason.
struct Case {
  RefusalReason reason;
  int status;
  std::vector<std::string> headers;
  bool has_token;
  ErrorKind kind;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool has_token : {false, true}) {
    all.push_back({RefusalReason::no_revision, 404, {"X-Error-Code: RevisionNotFound"}, has_token, ErrorKind::input});
    all.push_back({RefusalReason::no_file, 404, {"X-Error-Code: EntryNotFound"}, has_token, ErrorKind::input});
    all.push_back({RefusalReason::gated, 401, {"X-Error-Code: GatedRepo"}, has_token, ErrorKind::access});
    all.push_back({RefusalReason::gated, 403, {"X-Error-Code: GatedRepo"}, has_token, ErrorKind::access});
    all.push_back({RefusalReason::no_repo, 404, {"X-Error-Code: RepoNotFound"}, has_token, ErrorKind::access});
    all.push_back({RefusalReason::no_repo, 401, {"X-Error-Code: RepoNotFound"}, has_token, ErrorKind::access});
    all.push_back({RefusalReason::disabled,
                   403,
                   {"X-Error-Message: Access to this resource is disabled."},
                   has_token,
                   ErrorKind::access});
    all.push_back({RefusalReason::forbidden, 403, {}, has_token, ErrorKind::access});
    all.push_back({RefusalReason::rate_limit, 429, {}, has_token, ErrorKind::network});
    all.push_back({RefusalReason::server, 500, {}, has_token, ErrorKind::network});
    all.push_back({RefusalReason::server, 503, {}, has_token, ErrorKind::network});
    all.push_back({RefusalReason::other, 400, {}, has_token, ErrorKind::network});
    all.push_back({RefusalReason::other, 404, {}, has_token, ErrorKind::network});
    all.push_back({RefusalReason::other, 408, {}, has_token, ErrorKind::network});
    all.push_back({RefusalReason::other, 416, {}, has_token, ErrorKind::network});
    all.push_back({RefusalReason::other, 999, {}, has_token, ErrorKind::network});
  }
  const std::string invalid = "X-Error-Message: Invalid credentials in Authorization header";
  all.push_back({RefusalReason::wrong_token, 401, {invalid}, true, ErrorKind::access});
  all.push_back({RefusalReason::wrong_token, 401, {}, true, ErrorKind::access});
  all.push_back({RefusalReason::no_repo, 401, {}, false, ErrorKind::access});
  all.push_back(
      {RefusalReason::no_repo, 401, {"X-Error-Message: Invalid username or password."}, false, ErrorKind::access});
  return all;
}

TEST(RefusalReason, FollowsCodeMessageAndStatus) {
  for (const Case& c : cases()) {
    EXPECT_EQ(reason_of(c.status, c.headers, c.has_token), c.reason)
        << c.status << (c.headers.empty() ? "" : c.headers[0]) << c.has_token;
  }
}

TEST(RefusalReason, TakesTheCodeBeforeTheMessageAndTheStatus) {
  const std::string disabled = "X-Error-Message: Access to this resource is disabled.";
  EXPECT_EQ(reason_of(401, {"x-error-code: GatedRepo", disabled}, true), RefusalReason::gated);
  EXPECT_EQ(reason_of(404, {"x-error-code: RepoNotFound", disabled}), RefusalReason::disabled);
  EXPECT_EQ(reason_of(500, {"x-error-code: EntryNotFound"}), RefusalReason::no_file);
  EXPECT_EQ(reason_of(403, {"x-error-code: SomethingElse"}), RefusalReason::forbidden);
}

TEST(RefusalError, HasTheKindOfItsReason) {
  for (const Case& c : cases()) {
    EXPECT_EQ(error_of(c.status, c.headers, c.has_token).kind(), c.kind) << c.status;
  }
}

TEST(RefusalError, SaysWhatToDoAboutAGate) {
  EXPECT_EQ(message_of(401, {"X-Error-Code: GatedRepo"}),
            "org/name is gated: ask for access at https://hub.test/datasets/org/name, then pass a token of that "
            "account in HF_TOKEN");
  const std::string refused = message_of(403, {"X-Error-Code: GatedRepo", "X-Error-Message: awaiting review"}, true);
  EXPECT_TRUE(holds(refused, "account of the token has no access")) << refused;
  EXPECT_TRUE(holds(refused, "https://hub.test/datasets/org/name")) << refused;
  EXPECT_TRUE(holds(refused, "'awaiting review'")) << refused;
}

TEST(RefusalError, NamesTheRepositoryThatIsNotThere) {
  EXPECT_EQ(message_of(401, {}),
            "there is no dataset org/name on https://hub.test, or it is private: check the name, or set HF_TOKEN to a "
            "token that may read it");
  const std::string with_token = message_of(404, {"X-Error-Code: RepoNotFound"}, true);
  EXPECT_TRUE(holds(with_token, "no dataset org/name on https://hub.test")) << with_token;
  EXPECT_TRUE(holds(with_token, "the token may not read it")) << with_token;
  EXPECT_FALSE(holds(with_token, "set HF_TOKEN")) << with_token;
}

TEST(RefusalError, NamesTheRevisionAndTheFile) {
  const std::string no_revision = message_of(404, {"X-Error-Code: RevisionNotFound"});
  EXPECT_TRUE(holds(no_revision, "org/name has no revision 'v2'")) << no_revision;
  const std::string no_file = message_of(404, {"X-Error-Code: EntryNotFound"});
  EXPECT_TRUE(holds(no_file, "no file 'a/b.parquet' in revision 'v2'")) << no_file;
}

TEST(RefusalError, SaysThatTheTokenIsWrong) {
  const std::string message = message_of(401, {}, true);
  EXPECT_TRUE(holds(message, "does not accept the token of HF_TOKEN or the token file")) << message;
  EXPECT_TRUE(holds(message, "https://hub.test/settings/tokens")) << message;
}

TEST(RefusalError, SaysHowLongTheRateLimitLasts) {
  const std::string raise = "the limit is higher with a token";
  const std::string seconds_left = message_of(429, {"RateLimit: \"api\";r=0;t=55"});
  EXPECT_TRUE(holds(seconds_left, "(429)") && holds(seconds_left, "in 55 s") && holds(seconds_left, raise))
      << seconds_left;
  const std::string date = message_of(429, {"Retry-After: Wed, 21 Oct 2015 00:02:00 GMT"}, true);
  EXPECT_TRUE(holds(date, "in 120 s") && !holds(date, raise)) << date;
  const std::string unknown = message_of(429, {});
  EXPECT_TRUE(holds(unknown, "in a few minutes")) << unknown;
}

TEST(RefusalError, NamesTheStatusOfOtherTrouble) {
  for (const int status : {400, 404, 418, 500, 503}) {
    const std::string message = message_of(status, {"X-Error-Message: out of order"});
    EXPECT_TRUE(holds(message, "status " + std::to_string(status)) && holds(message, "'out of order'")) << message;
    EXPECT_TRUE(holds(message, "try again later")) << message;
  }
}

TEST(RefusalError, NeverShowsATokenOrAQuery) {
  for (Case c : cases()) {
    for (const char* words :
         {"token hf_SecretSecret is wrong", "Bearer SecretSecret is wrong",
          "cannot read https://cdn.test/x?X-Amz-Signature=SecretSecret", "Signature=SecretSecret"}) {
      std::vector<std::string> headers = c.headers;
      headers.push_back("X-Error-Message: " + std::string(words));
      headers.push_back("Location: https://cdn.test/x?X-Amz-Signature=SecretSecret");
      const std::string message = message_of(c.status, headers, c.has_token);
      EXPECT_FALSE(holds(message, "Secret") || holds(message, "?") || holds(message, "hf_")) << message;
    }
  }
}

TEST(RefusalError, IsOneLineThatTerminalsCanShow) {
  const std::string wild = "\x1b[2J\n" + std::string(500, 'x');
  for (const Case& c : cases()) {
    std::vector<std::string> headers = c.headers;
    headers.push_back("X-Error-Message: " + std::string(500, 'x') + "\xff");
    const HubQuestion odd{"https://hub.test", wild, wild, wild, c.has_token};
    const std::string message = refusal_error(odd, c.status, headers_of(headers), now).what();
    EXPECT_EQ(message.find_first_of("\x1b\n\xff"), std::string::npos) << message;
    EXPECT_LT(message.size(), 600U);
    EXPECT_GT(message.size(), 40U);
  }
}

}  // namespace
}  // namespace attention_plasticity
