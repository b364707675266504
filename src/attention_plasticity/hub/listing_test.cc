#include "attention_plasticity/hub/listing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
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

}  // namespace
}  // namespace attention_plasticity
