#include "attention_plasticity/hub/http.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/loopback_server_testing.h"

namespace attention_plasticity {
namespace {

TEST(ResolvedUrl, FollowsReferencesAsBrowsersDo) {
  const std::string base = "https://hub.example/datasets/a/resolve/main/x?y=1";
  EXPECT_EQ(resolved_url(base, "/api/resolve-cache/x"), "https://hub.example/api/resolve-cache/x");
  EXPECT_EQ(resolved_url(base, "z"), "https://hub.example/datasets/a/resolve/main/z");
  EXPECT_EQ(resolved_url(base, "../z"), "https://hub.example/datasets/a/resolve/z");
  EXPECT_EQ(resolved_url(base, "http://cdn.example:81/q?s=2"), "http://cdn.example:81/q?s=2");
  EXPECT_EQ(resolved_url(base, "//cdn.example/q"), "https://cdn.example/q");
  EXPECT_EQ(resolved_url(base, "http://["), "");
}

TEST(UrlParts, HaveTheDefaultPortAndTellOfCredentials) {
  const auto parts = url_parts("HTTPS://Hub.Example/x?y");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->scheme, "https");
  EXPECT_EQ(parts->host, "hub.example");
  EXPECT_EQ(parts->port, "443");
  EXPECT_FALSE(parts->has_credentials);
  EXPECT_EQ(url_parts("http://h:81")->port, "81");
  for (const char* url : {"https://ada:secret@h", "https://ada@h", "https://:secret@h", "https://@h"}) {
    EXPECT_TRUE(url_parts(url)->has_credentials) << url;
  }
  for (const char* url : {"", "h", "https://", "https://:80", "https://h:99999", "https://a b"}) {
    EXPECT_FALSE(url_parts(url)) << url;
  }
}

TEST(SameOrigin, ComparesSchemeHostAndPort) {
  const std::string hub = "https://hub.example";
  EXPECT_TRUE(have_same_origin(hub, "https://hub.example/api/x?y"));
  EXPECT_TRUE(have_same_origin(hub, "https://HUB.example:443/x"));
  EXPECT_FALSE(have_same_origin(hub, "http://hub.example/x"));
  EXPECT_FALSE(have_same_origin(hub, "http://hub.example:443/x")) << "the same port, but in the clear";
  EXPECT_FALSE(have_same_origin(hub, "https://hub.example:444/x"));
  EXPECT_FALSE(have_same_origin(hub, "https://hub.example.evil.example/x"));
  EXPECT_FALSE(have_same_origin(hub, "https://cdn.hub.example/x"));
  EXPECT_FALSE(have_same_origin(hub, "https://hub.example@evil.example/x"));
  EXPECT_FALSE(have_same_origin(hub, "nonsense"));
  EXPECT_FALSE(have_same_origin("nonsense", "nonsense"));
}

TEST(UrlHost, LeavesOutWhatIsNobodysBusiness) {
  EXPECT_EQ(url_host("https://cdn.example/path?signature=secret"), "cdn.example");
  EXPECT_EQ(url_host("https://user:secret@cdn.example/path"), "cdn.example");
  EXPECT_EQ(url_host("nonsense?secret"), "the address");
}

TEST(PercentEncoded, KeepsSlashesOnlyAsFolders) {
  EXPECT_EQ(percent_encoded("a b/c%d", Slashes::keep), "a%20b/c%25d");
  EXPECT_EQ(percent_encoded("refs/pr/1", Slashes::encode), "refs%2Fpr%2F1");
  EXPECT_EQ(percent_encoded("l00h00q/data.parquet", Slashes::keep), "l00h00q/data.parquet");
  EXPECT_EQ(percent_encoded("é?#", Slashes::keep), "%C3%A9%3F%23");
  EXPECT_EQ(percent_encoded("a%2Fb/-._~", Slashes::keep), "a%252Fb/-._~");
  EXPECT_EQ(percent_encoded("", Slashes::keep), "");
}

LoopbackServer::Handler always(LoopbackAnswer answer) {
  return [answer = std::move(answer)](const LoopbackRequest&) { return answer; };
}

LoopbackAnswer redirect(const std::string& location) {
  LoopbackAnswer answer;
  answer.status = 302;
  answer.headers = {{"Location", location}, {"X-Repo-Commit", "first"}};
  answer.body = "elsewhere";
  return answer;
}

class Connection : public ::testing::Test {
 protected:
  Connection() {
    target_.body = "the file";
    target_.headers = {{"X-Some-Name", "one"}, {"x-some-name", "two"}};
    ::setenv("no_proxy", "127.0.0.1,127.0.0.2", 1);
  }

  HttpResponse get(const std::string& url) {
    body_.clear();
    return HttpConnection(HubSettings{}).get({url, "hf_secret"}, sink(), {});
  }
  BodySink sink() {
    return [this](const HttpResponse&, std::string_view bytes) { body_ += bytes; };
  }
  LoopbackServer::Handler noting_token() {
    return [this](const LoopbackRequest& request) {
      const auto found = request.headers.find("authorization");
      tokens_.push_back(found == request.headers.end() ? "" : found->second);
      return request.target == "/back" ? redirect(back_) : target_;
    };
  }

  LoopbackAnswer target_;
  std::string back_;
  std::vector<std::string> tokens_;
  std::string body_;
};

TEST_F(Connection, FollowsRedirectsAndHasTheHeadersOfEach) {
  LoopbackServer target("127.0.0.2", always(target_));
  LoopbackServer second("127.0.0.1", always(redirect(target.origin() + "/x")));
  LoopbackServer first("127.0.0.1", always(redirect(second.origin())));
  const HttpResponse response = get(first.origin());
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.url, target.origin() + "/x");
  EXPECT_EQ(body_, "the file") << "without the bodies of redirects";
  EXPECT_EQ(header_value(response.headers, "x-some-name"), "one, two");
  EXPECT_EQ(header_value(response.headers, "x-repo-commit"), "");
  ASSERT_EQ(response.redirects.size(), 2U);
  EXPECT_EQ(header_value(response.redirects[1], "location"), target.origin() + "/x");
  EXPECT_EQ(header_value(response.redirects[0], "location"), second.origin());
}

TEST_F(Connection, KeepsTheTokenWithItsSchemeHostAndPort) {
  LoopbackServer other_host("127.0.0.2", noting_token());
  LoopbackServer other_port("127.0.0.1", noting_token());
  for (const LoopbackServer* target : {&other_host, &other_port}) {
    LoopbackServer first("127.0.0.1", always(redirect(target->origin())));
    get(first.origin());
    EXPECT_EQ(tokens_.back(), "");
  }
  get(other_host.origin());
  EXPECT_EQ(tokens_.back(), "Bearer hf_secret");
  back_ = "/here";
  get(other_port.origin() + "/back");
  EXPECT_EQ(tokens_.back(), "Bearer hf_secret") << "a redirect to the same host";
}

TEST_F(Connection, RefusesRedirectsWithoutEndAndToOtherProtocols) {
  for (const auto& [location, reason] : {std::pair("/again", "127.0.0.1 redirects more than 10 times"),
                                         std::pair("file:///etc/passwd", "not of http or https"),
                                         std::pair("ftp://127.0.0.1/x", "not of http or https")}) {
    LoopbackServer server("127.0.0.1", always(redirect(location)));
    try {
      get(server.origin());
      FAIL() << location;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::network);
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
    EXPECT_EQ(body_, "");
  }
}

TEST_F(Connection, ReadsTheTimeToWait) {
  const auto wait = [&](int status, const char* name, const char* value) {
    target_.status = status;
    target_.headers = {{name, value}};
    LoopbackServer server("127.0.0.1", always(target_));
    return get(server.origin()).asked_wait;
  };
  using std::chrono::seconds;
  EXPECT_EQ(wait(503, "Retry-After", "7"), seconds(7));
  EXPECT_EQ(wait(503, "Retry-After", "soon"), std::nullopt);
  EXPECT_EQ(wait(503, "Retry-After", "-5"), std::nullopt);
  EXPECT_EQ(wait(503, "Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"), std::nullopt);
  EXPECT_EQ(wait(503, "Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"), seconds(86'400)) << "at most a day";
  EXPECT_EQ(wait(429, "RateLimit", "\"resolvers\";r=0;t=12"), seconds(12));
  EXPECT_EQ(wait(429, "RateLimit", "\"resolvers\";r=0"), std::nullopt);
  EXPECT_EQ(wait(429, "RateLimit", "\"resolvers\";r=0;t=x"), std::nullopt);
  EXPECT_EQ(wait(200, "RateLimit", "\"resolvers\";r=9;t=12"), std::nullopt);
}

}  // namespace
}  // namespace attention_plasticity
