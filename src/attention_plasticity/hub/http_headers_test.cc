#include "attention_plasticity/hub/http_headers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "attention_plasticity/hub/http_headers_testing.h"

namespace attention_plasticity {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
constexpr auto noon = sys_days{std::chrono::year{2015} / 10 / 21} + hours{12};

std::optional<seconds> wait_of(const std::vector<std::string>& lines,
                               std::chrono::system_clock::time_point now = noon) {
  return asked_wait(headers_of(lines), now);
}

TEST(HttpHeaders, NamesCompareWithoutCase) {
  const HttpHeaders headers = headers_of({"X-Linked-ETag: \"abc\"\r\n"});
  EXPECT_EQ(headers.find("x-linked-etag"), "\"abc\"");
  EXPECT_EQ(headers.find("X-LINKED-ETAG"), "\"abc\"");
  EXPECT_EQ(headers.find("x-linked-eta"), std::nullopt);
}

TEST(HttpHeaders, ValuesLoseBlanksAtTheirEndsOnly) {
  const HttpHeaders headers = headers_of({"a:1", "b: \t 2 3\t \r\n", "c:", "d: x:y\n"});
  EXPECT_EQ(headers.find("a"), "1");
  EXPECT_EQ(headers.find("b"), "2 3");
  EXPECT_EQ(headers.find("c"), "");
  EXPECT_EQ(headers.find("d"), "x:y");
}

TEST(HttpHeaders, LinesOfOneNameBecomeOneValue) {
  const HttpHeaders headers = headers_of({"Link: <a>", "link:", "LINK: <b>"});
  EXPECT_EQ(headers.find("Link"), "<a>, <b>");
}

TEST(HttpHeaders, WhatIsNoNameAndValueIsLeftOut) {
  const HttpHeaders headers = headers_of({"HTTP/1.1 200 OK", "", "\r\n", ": x", "a b: x", "a : x", " a: x", "\ta: x",
                                          std::string("a\0: x", 5), "a: x\x01", "a: x\ry", "\xe9: x"});
  EXPECT_EQ(headers.find("a"), std::nullopt);
  EXPECT_EQ(headers.find(""), std::nullopt);
  EXPECT_EQ(headers.find("a b"), std::nullopt);
  EXPECT_EQ(headers.find("a "), std::nullopt);
  EXPECT_EQ(headers.find("\xe9"), std::nullopt);
}

TEST(HttpHeaders, AreGoneOnceCleared) {
  HttpHeaders headers = headers_of({"a: 1"});
  headers.clear();
  EXPECT_EQ(headers.find("a"), std::nullopt);
}

TEST(EntityTag, LosesQuotesAndWeakness) {
  EXPECT_EQ(entity_tag("\"abc\""), "abc");
  EXPECT_EQ(entity_tag("W/\"abc\""), "abc");
  EXPECT_EQ(entity_tag(" \"abc\" "), "abc");
  EXPECT_EQ(entity_tag("\"\""), "");
}

TEST(EntityTag, StaysAsItIsWithoutQuotes) {
  for (const char* tag : {"abc", "", "\"", "W/", "W/\"", "\"abc", "abc\"", "W/abc"}) EXPECT_EQ(entity_tag(tag), tag);
}

TEST(NextPage, IsTheLinkWhoseRelationIsNext) {
  EXPECT_EQ(next_page("<https://h/api?cursor=a%3D>; rel=\"next\""), "https://h/api?cursor=a%3D");
  EXPECT_EQ(next_page("</a>;rel=next"), "/a");
  EXPECT_EQ(next_page("</a> ; title=\"a, b; \\\"rel=next\\\"\" ; REL = NEXT ; crossorigin"), "/a");
  EXPECT_EQ(next_page("<a>; rel=\"first\", <b>; rel=\"next\", <c>; rel=\"last\""), "b");
  EXPECT_EQ(next_page("<a>; rel=\"last next\""), "a");
  EXPECT_EQ(next_page("<a>; type=text/html; rel=next"), "a");
}

TEST(NextPage, MayHoldCommasAndSemicolons) {
  EXPECT_EQ(next_page("<a?x=1,2>; rel=prev, <b?x=1,2;rel=prev>; rel=next"), "b?x=1,2;rel=prev");
}

TEST(NextPage, IsNoneInAnythingElse) {
  for (const char* link :
       {"", "a; rel=next", "<a", "<a>", "<a>; rel", "<a>; rel=", "<a>; rel=\"next", "<a>; rel=\"next\\",
        "<a>; rel=nexts", "<>; rel=next", "<a b>; rel=next", "<a\r\nb>; rel=next", "<a>; rel=prev; rel=next",
        "<a>; rel=prev,", "<a>; ; rel=next", "<a>; anchor=\"rel=next\""}) {
    EXPECT_EQ(next_page(link), std::nullopt) << link;
  }
}

RC_GTEST_PROP(NextPage, IsFoundWhereverItStands, ()) {
  const auto links = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("<a>; rel=\"prev\"", "<b,c>;rel=last", "<d>", "<e>; title=\"x, \\\"y\""));
  const std::size_t place = *rc::gen::inRange<std::size_t>(0, links.size() + 1);
  std::string header;
  for (std::size_t i = 0; i <= links.size(); ++i) {
    if (i > 0) header += ", ";
    if (i == place) header += "<found>; rel=\"next\"";
    if (i == place && i < links.size()) header += ", ";
    if (i < links.size()) header += links[i];
  }
  if (header.ends_with(", ")) header.resize(header.size() - 2);
  RC_ASSERT(next_page(header) == std::optional<std::string>("found"));
}

TEST(ContentRange, HasBothEndsAndTheTotal) {
  const auto range = parse_content_range("bytes 100-199/1000");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->first, 100U);
  EXPECT_EQ(range->last, 199U);
  EXPECT_EQ(range->total, 1000U);
  const auto open = parse_content_range(" Bytes 0-0/* ");
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->last, 0U);
  EXPECT_EQ(open->total, std::nullopt);
}

TEST(ContentRange, HasAnEndThatCanBeCountedOnFrom) {
  const std::string last = std::to_string(largest);
  EXPECT_FALSE(parse_content_range("bytes 0-" + last + "/*").has_value());
  const auto range = parse_content_range("bytes 0-" + std::to_string(largest - 1) + "/" + last);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->last, largest - 1);
}

TEST(ContentRange, IsNoneForAnythingElse) {
  for (const char* header : {"",
                             "bytes",
                             "bytes ",
                             "bytes */1000",
                             "bytes 5-4/10",
                             "bytes 5-10/10",
                             "bytes 5-/10",
                             "bytes -5/10",
                             "bytes 5-6",
                             "bytes 5-6/",
                             "bytes 5-6/x",
                             "bytes 5/6-7",
                             "bytes  5-6/10",
                             "bytes 5 - 6/10",
                             "bytes +5-6/10",
                             "bytes 5-6-7/10",
                             "items 5-6/10",
                             "bytes=5-6/10",
                             "bytes 0-18446744073709551616/*",
                             "bytes 0-1/18446744073709551616"}) {
    EXPECT_FALSE(parse_content_range(header).has_value()) << header;
  }
}

TEST(Size, IsDigitsUpToTheLargestNumber) {
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size(" 0042 "), 42U);
  EXPECT_EQ(parse_size(std::to_string(largest)), largest);
  for (const char* text : {"", " ", "-1", "+1", "1.0", "1e3", "0x10", "5, 5", "18446744073709551616",
                           "99999999999999999999999999999999999999999"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(AskedWait, IsTheSecondsOfRetryAfter) {
  EXPECT_EQ(wait_of({"Retry-After: 120"}), seconds{120});
  EXPECT_EQ(wait_of({"Retry-After: 0"}), seconds{0});
  EXPECT_EQ(wait_of({}), std::nullopt);
}

TEST(AskedWait, IsTheTimeToTheDateOfRetryAfter) {
  const std::vector<std::string> at_seven{"Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"};
  const auto seven = sys_days{std::chrono::year{2015} / 10 / 21} + hours{7} + minutes{28};
  EXPECT_EQ(wait_of(at_seven, seven - seconds{90}), seconds{90});
  EXPECT_EQ(wait_of(at_seven, seven - milliseconds{1}), seconds{1}) << "asking early is worse than late";
  EXPECT_EQ(wait_of(at_seven, seven), seconds{0});
  EXPECT_EQ(wait_of(at_seven, seven + hours{1000}), seconds{0});
  EXPECT_EQ(wait_of({"Retry-After: Mon, 29 Feb 2016 23:59:60 GMT"},
                    sys_days{std::chrono::year{2016} / 2 / 29} + hours{23} + minutes{59}),
            seconds{60});
  // The two obsolete forms of RFC 9110, section 5.6.7.
  EXPECT_EQ(wait_of({"Retry-After: Wednesday, 21-Oct-15 12:00:30 GMT"}), seconds{30});
  EXPECT_EQ(wait_of({"Retry-After: Wed Oct 21 12:00:30 2015"}), seconds{30});
}

TEST(AskedWait, IsNeverLongerThanADay) {
  EXPECT_EQ(wait_of({"Retry-After: 86400"}), longest_asked_wait);
  EXPECT_EQ(wait_of({"Retry-After: 86401"}), longest_asked_wait);
  EXPECT_EQ(wait_of({"Retry-After: 99999999999999999999999999"}), longest_asked_wait);
  EXPECT_EQ(wait_of({"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT"}), longest_asked_wait);
  EXPECT_EQ(wait_of({"RateLimit: \"api\";r=0;t=99999999999999999999999999"}), longest_asked_wait);
  using Clock = std::chrono::system_clock;
  EXPECT_EQ(wait_of({"Retry-After: Sat, 01 Jan 1600 00:00:00 GMT"}, Clock::time_point::max()), seconds{0});
  EXPECT_EQ(wait_of({"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT"}, Clock::time_point::min()), longest_asked_wait);
}

TEST(AskedWait, OverlooksWhatIsNoDate) {
  for (const char* date : {"", "-5", "1.5", "soon", "Wed, 21 Oct 2015 24:00:00 GMT", "Wed, 21 Oct 2015 07:60:00 GMT",
                           "Wed, 21 Oct 2015 07:28:61 GMT", "Wed, 21 Oct 2015 07-28-00 GMT", "5, 5"}) {
    EXPECT_EQ(wait_of({std::string("Retry-After: ") + date}), std::nullopt) << date;
  }
}

TEST(AskedWait, IsTheLongestResetOfAUsedUpRateLimit) {
  EXPECT_EQ(wait_of({"RateLimit: \"api\";r=0;t=55"}), seconds{55});
  EXPECT_EQ(wait_of({"RateLimit: \"api\" ; t = 55 ; r = 0"}), seconds{55});
  EXPECT_EQ(wait_of({"RateLimit: api;pk=:YQ==:;r=0;t=55"}), seconds{55});
  EXPECT_EQ(wait_of({"RateLimit: \"a\";r=0;t=5, \"b,c\";r=0;t=70, \"d\";r=3;t=900, \"e\";r=0;t=6"}), seconds{70});
  EXPECT_EQ(wait_of({"RateLimit: \"a\";r=0;t=5", "ratelimit: \"b\";r=0;t=7"}), seconds{7});
}

TEST(AskedWait, IsNoneWhileTheRateLimitHasSomeLeft) {
  for (const char* limit :
       {"\"api\";r=1;t=55", "\"api\";r=18446744073709551616;t=55", "\"api\";t=55", "\"api\";r=0", "\"api\";r=0;t=-5",
        "\"api\";r=x;t=5", "\"api\"", "", "\"api;r=0;t=5", ";r=0;t=5", "\"api\";r=0;t=5 x", "\"api\";r=0;t=5,"}) {
    EXPECT_EQ(wait_of({std::string("RateLimit: ") + limit}), std::nullopt) << limit;
  }
}

TEST(AskedWait, TakesRetryAfterBeforeRateLimit) {
  EXPECT_EQ(wait_of({"RateLimit: \"api\";r=0;t=55", "Retry-After: 3"}), seconds{3});
  EXPECT_EQ(wait_of({"RateLimit: \"api\";r=0;t=55", "Retry-After: soon"}), seconds{55});
}

}  // namespace
}  // namespace attention_plasticity
