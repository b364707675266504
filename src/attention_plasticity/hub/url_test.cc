#include "attention_plasticity/hub/url.h"

#include <gtest/gtest.h>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

TEST(ResolvedUrl, FollowsReferencesAsBrowsersDo) {
  const std::string base = "https://hub.example/datasets/a/resolve/main/x?y=1";
  EXPECT_EQ(resolved_url(base, "/api/resolve-cache/x"), "https://hub.example/api/resolve-cache/x");
  EXPECT_EQ(resolved_url(base, "z"), "https://hub.example/datasets/a/resolve/main/z");
  EXPECT_EQ(resolved_url(base, "../z"), "https://hub.example/datasets/a/resolve/z");
  EXPECT_EQ(resolved_url(base, "http://cdn.example:81/q?s=2"), "http://cdn.example:81/q?s=2");
  EXPECT_EQ(resolved_url(base, "//cdn.example/q"), "https://cdn.example/q");
}

TEST(ResolvedUrl, RefusesWhatIsNoAddressOfTheWeb) {
  for (const char* reference : {"file:///etc/passwd", "ftp://host/x", "gopher://host/x", "http://[", "http://"}) {
    EXPECT_THROW(resolved_url("https://hub.example/x", reference), Error) << reference;
  }
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

TEST(GivesUpEncryption, OnTheWayFromHttpsToAnythingElse) {
  EXPECT_TRUE(gives_up_encryption("https://hub.example", "http://hub.example/x"));
  EXPECT_TRUE(gives_up_encryption("HTTPS://hub.example", "http://hub.example:443/x"));
  EXPECT_TRUE(gives_up_encryption("https://hub.example", "nonsense"));
  EXPECT_FALSE(gives_up_encryption("https://hub.example", "https://cdn.example/x"));
  EXPECT_FALSE(gives_up_encryption("http://127.0.0.1:80", "http://127.0.0.1:81"));
  EXPECT_FALSE(gives_up_encryption("http://127.0.0.1:80", "https://hub.example"));
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

}  // namespace
}  // namespace attention_plasticity
