#include "attention_plasticity/hub/answers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string main_commit(40, 'a');
const std::string sha1(40, 'b');
const std::string sha256(64, 'c');

template <typename Parser>
std::optional<Error> error_of(Parser parse, const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

template <typename Parser>
void expect_no_answer(Parser parse, const std::string& text) {
  const auto error = error_of(parse, text);
  ASSERT_TRUE(error.has_value()) << text.substr(0, 200);
  EXPECT_EQ(error->kind(), ErrorKind::network) << text.substr(0, 200);
  const std::string message = error->what();
  EXPECT_LT(message.size(), 300U);
  EXPECT_EQ(message.find_first_of("\n\r\x1b"), std::string::npos);
}

json small_file(const std::string& path = "README.md") {
  return {{"type", "file"}, {"path", path}, {"size", 12}, {"oid", sha1}};
}

json large_file(const std::string& path = "l00h00q.parquet") {
  return {{"type", "file"},
          {"path", path},
          {"size", 134},
          {"oid", sha1},
          {"lfs", {{"oid", sha256}, {"size", 5'000'000'000}, {"pointerSize", 134}}},
          {"xetHash", std::string(64, 'd')}};
}

std::string page(const json& entry) { return json::array({entry}).dump(); }

json revision(const std::vector<std::string>& paths) {
  json siblings = json::array();
  for (const std::string& path : paths) siblings.push_back({{"rfilename", path}});
  return {{"id", "org/name"}, {"sha", main_commit}, {"siblings", siblings}};
}

/// Paths that must be refused, one of each kind.
std::vector<std::string> escaping_paths() {
  return {"",
          "/",
          "/etc/passwd",
          "..",
          "../x",
          "a/../../x",
          "a/..",
          "a/../b",
          ".",
          "./a",
          "a/.",
          "a//b",
          "a/",
          std::string("a\0b", 3),
          std::string("..\0", 3),
          std::string(256, 'n'),
          "a/" + std::string(256, 'n') + "/b"};
}

TEST(IsInsideFolder, HoldsForPlainPaths) {
  for (const std::string& path : {std::string("a"), std::string("a/b/c.parquet"), std::string("..a/b../...a"),
                                  std::string(".gitattributes"), std::string("a b/\xc3\xa4"), std::string("a\\..\\b"),
                                  std::string("~"), std::string(255, 'n') + "/" + std::string(255, 'm')}) {
    EXPECT_TRUE(is_inside_folder(path)) << path;
  }
}

TEST(IsInsideFolder, FailsForPathsThatLeaveItOrNameNoFile) {
  for (const std::string& path : escaping_paths()) EXPECT_FALSE(is_inside_folder(path)) << path;
}

RC_GTEST_PROP(IsInsideFolder, AgreesWithTheFileSystemsOwnNormalForm, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a", "..", ".", "", "/", "b c", std::string("\0", 1), "..."));
  std::string path;
  for (std::size_t i = 0; i < parts.size(); ++i) path += (i == 0 ? "" : "/") + parts[i];
  const fs::path given(path);
  const std::string normal = given.lexically_normal().string();
  const bool is_plain = normal == path && !path.empty() && path != "." && !path.ends_with('/');
  const bool is_below = given.is_relative() && *given.begin() != fs::path("..");
  const bool expected = is_plain && is_below && path.find('\0') == std::string::npos;
  RC_TAG(expected);
  RC_ASSERT(is_inside_folder(path) == expected);
}

RC_GTEST_PROP(IsInsideFolder, KeepsTheFolderInFront, (const std::string& path)) {
  RC_PRE(is_inside_folder(path));
  const std::string whole = (fs::path("/cache/snapshot") / path).lexically_normal().string();
  RC_ASSERT(whole == "/cache/snapshot/" + path);
}

TEST(IsCommit, HoldsForFortyDigitsOnly) {
  EXPECT_TRUE(is_commit("0123456789abcdef0123456789abcdef01234567"));
  for (const std::string& revision : {std::string(), std::string("main"), std::string(39, 'a'), std::string(41, 'a'),
                                      std::string(40, 'g'), std::string(40, 'A'), std::string(39, 'a') + "\n"}) {
    EXPECT_FALSE(is_commit(revision)) << revision;
  }
}

TEST(RevisionInfo, HasTheCommitAndAllPaths) {
  const RevisionInfo info = parse_revision_info(revision({"README.md", "a/b.parquet"}).dump());
  EXPECT_EQ(info.commit, main_commit);
  EXPECT_EQ(info.paths, (std::vector<std::string>{"README.md", "a/b.parquet"}));
  EXPECT_TRUE(info.lists_all);
}

TEST(RevisionInfo, WithoutSiblingsListsNotAll) {
  for (const json& answer : {json{{"sha", main_commit}}, json{{"sha", main_commit}, {"siblings", nullptr}}}) {
    const RevisionInfo info = parse_revision_info(answer.dump());
    EXPECT_EQ(info.commit, main_commit);
    EXPECT_FALSE(info.lists_all);
    EXPECT_TRUE(info.paths.empty());
  }
}

TEST(RevisionInfo, MayBeCutShortFromFiftyThousandFilesOn) {
  std::vector<std::string> paths(49'999, "a");
  EXPECT_TRUE(parse_revision_info(revision(paths).dump()).lists_all);
  paths.emplace_back("b");
  const RevisionInfo info = parse_revision_info(revision(paths).dump());
  EXPECT_FALSE(info.lists_all);
  EXPECT_EQ(info.paths.size(), 50'000U);
}

TEST(RevisionInfo, IsRefusedWithoutAWholeCommit) {
  for (const json& sha :
       {json("main"), json(std::string(7, 'a')), json("../" + std::string(37, 'a')), json(5), json(), json::array()}) {
    expect_no_answer(parse_revision_info, json{{"sha", sha}}.dump());
  }
  expect_no_answer(parse_revision_info, "{}");
}

TEST(RevisionInfo, IsRefusedWithSiblingsOfAnotherShape) {
  for (const json& siblings : {json(5), json("a"), json::object(), json::array({"a"}), json::array({json::object()}),
                               json::array({{{"rfilename", 5}}}), json::array({nullptr})}) {
    expect_no_answer(parse_revision_info, json{{"sha", main_commit}, {"siblings", siblings}}.dump());
  }
}

TEST(TreePage, HasSmallFilesByTheirGitDigest) {
  const auto files = parse_tree_page(page(small_file("a/README.md")));
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].path, "a/README.md");
  EXPECT_EQ(files[0].size, 12U);
  EXPECT_EQ(files[0].etag, sha1);
  EXPECT_FALSE(files[0].is_large);
}

TEST(TreePage, HasLargeFilesByTheirContentDigest) {
  const auto files = parse_tree_page(page(large_file("l.parquet")));
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].path, "l.parquet");
  EXPECT_EQ(files[0].size, 5'000'000'000U);
  EXPECT_EQ(files[0].etag, sha256);
  EXPECT_TRUE(files[0].is_large);
}

TEST(TreePage, LeavesFoldersOut) {
  const json folder = {{"type", "directory"}, {"path", "a"}, {"size", 0}, {"oid", sha1}};
  const auto files = parse_tree_page(json::array({folder, small_file("a/b"), large_file("a/c")}).dump());
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, "a/b");
  EXPECT_EQ(files[1].path, "a/c");
  EXPECT_TRUE(parse_tree_page("[]").empty());
}

TEST(TreePage, IsRefusedWithAnEtagThatIsNoDigest) {
  for (const json& oid : {json("../../x"), json(""), json(std::string(40, 'B')), json(std::string(39, 'b')),
                          json(std::string(39, 'b') + "/"), json(sha256), json(5), json()}) {
    json small = small_file();
    small["oid"] = oid;
    expect_no_answer(parse_tree_page, page(small));
  }
  for (const json& oid :
       {json("../../x"), json(std::string(64, 'C')), json(std::string(63, 'c')), json(sha1), json()}) {
    json large = large_file();
    large["lfs"]["oid"] = oid;
    expect_no_answer(parse_tree_page, page(large));
  }
}

TEST(TreePage, IsRefusedWithASizeThatIsNoNumberOfBytes) {
  for (const char* size : {"-1", "1.5", "1e3", "\"12\"", "null", "true", "[]", "9007199254740993",
                           "18446744073709551615", "18446744073709551616", "1e999"}) {
    const std::string start = R"([{"type":"file","path":"a","oid":")" + sha1 + R"(","size":)";
    expect_no_answer(parse_tree_page, start + size + "}]");
    expect_no_answer(parse_tree_page,
                     start + R"(1,"lfs":{"oid":")" + sha256 + R"(","pointerSize":1,"size":)" + size + "}}]");
  }
  json largest = small_file();
  largest["size"] = std::uint64_t{1} << 53;
  EXPECT_EQ(parse_tree_page(page(largest)).at(0).size, std::uint64_t{1} << 53);
}

TEST(TreePage, IsRefusedWithAnotherShape) {
  for (const char* text : {"", " ", "{}", "null", "5", "[5]", "[[]]", "[null]", "[{}]", "[{\"type\":\"file\"}]",
                           "<!DOCTYPE html><html></html>", "[", "[]]", "[\"\xff\"]", "\xef\xbb\xbf"}) {
    expect_no_answer(parse_tree_page, text);
  }
  json entry = large_file();
  entry["lfs"] = "x";
  expect_no_answer(parse_tree_page, page(entry));
  entry["lfs"] = json::object();
  expect_no_answer(parse_tree_page, page(entry));
}

TEST(Listing, IsRefusedAsInputWhenAnyPathLeavesTheFolder) {
  for (const std::string& path : escaping_paths()) {
    const json folder = {{"type", "directory"}, {"path", path}, {"oid", sha1}, {"size", 0}};
    for (const json& entry : {small_file(path), large_file(path), folder}) {
      const auto error = error_of(parse_tree_page, json::array({small_file("fine"), entry}).dump());
      ASSERT_TRUE(error.has_value()) << path;
      EXPECT_EQ(error->kind(), ErrorKind::input) << path;
    }
    const auto error = error_of(parse_revision_info, revision({"fine", path}).dump());
    ASSERT_TRUE(error.has_value()) << path;
    EXPECT_EQ(error->kind(), ErrorKind::input) << path;
  }
}

TEST(Listing, NamesTheEscapingPathOnOneSafeLine) {
  const auto error = error_of(parse_tree_page, page(small_file("../\x1b[2J\nx")));
  ASSERT_TRUE(error.has_value());
  const std::string message = error->what();
  EXPECT_NE(message.find("'../\\x1b[2J\\nx'"), std::string::npos) << message;
  EXPECT_NE(message.find("leaves the folder"), std::string::npos) << message;
  EXPECT_NE(message.find("nothing was written"), std::string::npos) << message;
  EXPECT_EQ(message.find_first_of("\x1b\n"), std::string::npos);
}

TEST(Refs, HaveBranchesAndTags) {
  const RepoRefs refs = parse_refs(
      R"({"branches":[{"name":"main","ref":"refs/heads/main"},{"name":"a/b"}],"converts":[{"name":"x"}],
          "tags":[{"name":"v1","ref":"refs/tags/v1"}]})");
  EXPECT_EQ(refs.branches, (std::vector<std::string>{"main", "a/b"}));
  EXPECT_EQ(refs.tags, (std::vector<std::string>{"v1"}));
  EXPECT_TRUE(parse_refs(R"({"branches":[]})").branches.empty());
}

TEST(Refs, AreRefusedWithAnotherShape) {
  for (const char* text : {"", "[]", "{}", R"({"branches":{}})", R"({"branches":[5]})", R"({"branches":[{}]})",
                           R"({"branches":[{"name":5}]})", R"({"branches":[],"tags":5})"}) {
    expect_no_answer(parse_refs, text);
  }
}

TEST(Listing, RefusesWhatIsNestedDeeply) {
  const std::string inside(63, '[');
  const std::string closed = inside + std::string(63, ']');
  const std::string deep = "[" + closed + "]";
  const auto with = [](const std::string& extra) {
    return R"({"sha":")" + main_commit + R"(","siblings":[],"card":)" + extra + "}";
  };
  EXPECT_NO_THROW(parse_revision_info(with(closed)));
  expect_no_answer(parse_revision_info, with(deep));
  for (const char* bracket : {"[", "{\"a\":"}) {
    std::string text;
    while (text.size() < 10'000'000) text += bracket;
    expect_no_answer(parse_tree_page, text);
    expect_no_answer(parse_revision_info, with(text));
  }
  const std::string brackets_in_text(1000, '[');
  EXPECT_NO_THROW(parse_revision_info(with(json("\"\\" + brackets_in_text).dump())));
}

TEST(Listing, RefusesWhatIsLongerThanAnyAnswer) {
  const std::string blanks(longest_answer - 2, ' ');
  EXPECT_TRUE(parse_tree_page(blanks + "[]").empty());
  expect_no_answer(parse_tree_page, blanks + " []");
}

TEST(EntityTag, LosesQuotesAndWeakness) {
  EXPECT_EQ(entity_tag("\"abc\""), "abc");
  EXPECT_EQ(entity_tag("W/\"abc\""), "abc");
  EXPECT_EQ(entity_tag("\"\""), "");
  for (const char* tag : {"abc", "", "\"", "W/", "W/\"", "\"abc", "abc\"", "W/abc"}) EXPECT_EQ(entity_tag(tag), tag);
}

TEST(NextPage, IsTheLinkWhoseRelationIsNext) {
  EXPECT_EQ(next_page("<https://h/api?cursor=a%3D>; rel=\"next\""), "https://h/api?cursor=a%3D");
  EXPECT_EQ(next_page("<a>; rel=\"first\", <b?x=1,2;y=3>; rel=\"next\", <c>; rel=\"last\""), "b?x=1,2;y=3");
  for (const char* link :
       {"", "a; rel=\"next\"", "<a", "<a>", "<a>; rel=\"nexts\"", "<>; rel=\"next\"", "<a>; rel=\"prev\","}) {
    EXPECT_EQ(next_page(link), "") << link;
  }
}

RefusalReason reason_of(int status, const HttpHeaders& headers, bool has_token = false) {
  return refusal_reason({status, headers, {}, {}}, has_token);
}

HubQuestion question(bool has_token) { return {"https://hub.test", "org/name", "v2", "a/b.parquet", has_token}; }

Error refusal_of(int status, const HttpHeaders& headers, bool has_token = false) {
  return refusal_error(question(has_token), {status, headers, {}, {}});
}

std::string message_of(int status, const HttpHeaders& headers, bool has_token = false) {
  return refusal_of(status, headers, has_token).what();
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// One answer for each reason.
struct Case {
  RefusalReason reason;
  int status;
  HttpHeaders headers;
  bool has_token;
  ErrorKind kind;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool has_token : {false, true}) {
    all.push_back(
        {RefusalReason::no_revision, 404, {{"x-error-code", "RevisionNotFound"}}, has_token, ErrorKind::input});
    all.push_back({RefusalReason::no_file, 404, {{"x-error-code", "EntryNotFound"}}, has_token, ErrorKind::input});
    all.push_back({RefusalReason::gated, 401, {{"x-error-code", "GatedRepo"}}, has_token, ErrorKind::access});
    all.push_back({RefusalReason::gated, 403, {{"x-error-code", "GatedRepo"}}, has_token, ErrorKind::access});
    all.push_back({RefusalReason::no_repo, 404, {{"x-error-code", "RepoNotFound"}}, has_token, ErrorKind::access});
    all.push_back({RefusalReason::no_repo, 401, {{"x-error-code", "RepoNotFound"}}, has_token, ErrorKind::access});
    all.push_back({RefusalReason::disabled,
                   403,
                   {{"x-error-message", "Access to this resource is disabled."}},
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
  const HttpHeaders invalid{{"x-error-message", "Invalid credentials in Authorization header"}};
  all.push_back({RefusalReason::wrong_token, 401, invalid, true, ErrorKind::access});
  all.push_back({RefusalReason::wrong_token, 401, {}, true, ErrorKind::access});
  all.push_back({RefusalReason::no_repo, 401, {}, false, ErrorKind::access});
  all.push_back(
      {RefusalReason::no_repo, 401, {{"x-error-message", "Invalid username or password."}}, false, ErrorKind::access});
  return all;
}

TEST(RefusalReason, FollowsCodeMessageAndStatus) {
  for (const Case& c : cases()) {
    EXPECT_EQ(reason_of(c.status, c.headers, c.has_token), c.reason)
        << c.status << (c.headers.empty() ? "" : c.headers.begin()->second) << c.has_token;
  }
}

TEST(RefusalReason, TakesTheCodeBeforeTheMessageAndTheStatus) {
  const std::pair<const std::string, std::string> disabled{"x-error-message", "Access to this resource is disabled."};
  EXPECT_EQ(reason_of(401, {{"x-error-code", "GatedRepo"}, disabled}, true), RefusalReason::gated);
  EXPECT_EQ(reason_of(404, {{"x-error-code", "RepoNotFound"}, disabled}), RefusalReason::disabled);
  EXPECT_EQ(reason_of(500, {{"x-error-code", "EntryNotFound"}}), RefusalReason::no_file);
  EXPECT_EQ(reason_of(403, {{"x-error-code", "SomethingElse"}}), RefusalReason::forbidden);
}

TEST(RefusalError, HasTheKindOfItsReason) {
  for (const Case& c : cases()) {
    EXPECT_EQ(refusal_of(c.status, c.headers, c.has_token).kind(), c.kind) << c.status;
  }
}

TEST(RefusalError, SaysWhatToDoAboutAGate) {
  EXPECT_EQ(message_of(401, {{"x-error-code", "GatedRepo"}}),
            "org/name is gated: ask for access at https://hub.test/datasets/org/name, then pass a token of that "
            "account in HF_TOKEN");
  const std::string refused =
      message_of(403, {{"x-error-code", "GatedRepo"}, {"x-error-message", "awaiting review"}}, true);
  EXPECT_TRUE(holds(refused, "account of the token has no access")) << refused;
  EXPECT_TRUE(holds(refused, "https://hub.test/datasets/org/name")) << refused;
  EXPECT_TRUE(holds(refused, "'awaiting review'")) << refused;
}

TEST(RefusalError, NamesTheRepositoryThatIsNotThere) {
  EXPECT_EQ(message_of(401, {}),
            "there is no dataset org/name on https://hub.test, or it is private: check the name, or set HF_TOKEN to a "
            "token that may read it");
  const std::string with_token = message_of(404, {{"x-error-code", "RepoNotFound"}}, true);
  EXPECT_TRUE(holds(with_token, "no dataset org/name on https://hub.test")) << with_token;
  EXPECT_TRUE(holds(with_token, "the token may not read it")) << with_token;
  EXPECT_FALSE(holds(with_token, "set HF_TOKEN")) << with_token;
}

TEST(RefusalError, NamesTheRevisionAndTheFile) {
  const std::string no_revision = message_of(404, {{"x-error-code", "RevisionNotFound"}});
  EXPECT_TRUE(holds(no_revision, "org/name has no revision 'v2'")) << no_revision;
  const std::string no_file = message_of(404, {{"x-error-code", "EntryNotFound"}});
  EXPECT_TRUE(holds(no_file, "no file 'a/b.parquet' in revision 'v2'")) << no_file;
}

TEST(RefusalError, SaysThatTheTokenIsWrong) {
  const std::string message = message_of(401, {}, true);
  EXPECT_TRUE(holds(message, "does not accept the token of HF_TOKEN or the token file")) << message;
  EXPECT_TRUE(holds(message, "https://hub.test/settings/tokens")) << message;
}

TEST(RefusalError, SaysHowLongTheRateLimitLasts) {
  const std::string raise = "the limit is higher with a token";
  const auto message = [](std::optional<std::chrono::seconds> wait, bool has_token) {
    return std::string(refusal_error(question(has_token), {429, {}, {}, {}, wait}).what());
  };
  const std::string limited = message(std::chrono::seconds(55), false);
  EXPECT_TRUE(holds(limited, "(429)") && holds(limited, "in 55 s") && holds(limited, raise)) << limited;
  EXPECT_FALSE(holds(message(std::chrono::seconds(55), true), raise));
  EXPECT_TRUE(holds(message({}, false), "in a few minutes"));
}

TEST(RefusalError, NamesTheStatusOfOtherTrouble) {
  for (const int status : {400, 404, 418, 500, 503}) {
    const std::string message = message_of(status, {{"x-error-message", "out of order"}});
    EXPECT_TRUE(holds(message, "status " + std::to_string(status)) && holds(message, "'out of order'")) << message;
    EXPECT_TRUE(holds(message, "try again later")) << message;
  }
}

TEST(RefusalError, NeverShowsATokenOrAQuery) {
  for (Case c : cases()) {
    for (const char* words :
         {"token hf_SecretSecret is wrong", "Bearer SecretSecret is wrong",
          "cannot read https://cdn.test/x?X-Amz-Signature=SecretSecret", "Signature=SecretSecret"}) {
      HttpHeaders headers = c.headers;
      headers["x-error-message"] = words;
      headers["location"] = "https://cdn.test/x?X-Amz-Signature=SecretSecret";
      const std::string message = message_of(c.status, headers, c.has_token);
      EXPECT_FALSE(holds(message, "Secret") || holds(message, "?") || holds(message, "hf_")) << message;
    }
  }
}

TEST(RefusalError, IsOneLineThatTerminalsCanShow) {
  const std::string wild = "\x1b[2J\n" + std::string(500, 'x');
  for (const Case& c : cases()) {
    HttpHeaders headers = c.headers;
    headers["x-error-message"] = std::string(500, 'x') + "\xff";
    const HubQuestion odd{"https://hub.test", wild, wild, wild, c.has_token};
    const std::string message = refusal_error(odd, {c.status, headers, {}, {}}).what();
    EXPECT_EQ(message.find_first_of("\x1b\n\xff"), std::string::npos) << message;
    EXPECT_LT(message.size(), 600U);
    EXPECT_GT(message.size(), 40U);
  }
}

}  // namespace
}  // namespace attention_plasticity
