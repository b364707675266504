#include "attention_plasticity/hub/loopback_hub_testing.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "attention_plasticity/hub/loopback_client_testing.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds short_patience{200};

std::string some_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>((i * 7 + i / 251) % 256);
  return bytes;
}

LoopbackServer::Handler always(LoopbackAnswer answer) {
  return [answer = std::move(answer)](const LoopbackRequest&) { return answer; };
}

LoopbackAnswer plain_answer(std::string body) {
  LoopbackAnswer answer;
  answer.body = std::move(body);
  return answer;
}

/// All bytes that the server sends after these, until it closes the connection.
std::string raw_exchange(const std::string& origin, const std::string& bytes) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(static_cast<std::uint16_t>(std::stoi(origin.substr(origin.rfind(':') + 1))));
  std::string answer;
  if (::connect(socket, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0 &&
      ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size())) {
    char buffer[4096];
    for (ssize_t count = 0; (count = ::recv(socket, buffer, sizeof buffer, 0)) > 0;) {
      answer.append(buffer, static_cast<std::size_t>(count));
    }
  }
  ::close(socket);
  return answer;
}

TEST(LoopbackServer, SendsAFileAndKeepsTheConnection) {
  LoopbackServer server("127.0.0.1", always(plain_answer(some_bytes(300'000))));
  LoopbackClient client;
  for (int i = 0; i < 3; ++i) {
    const SeenAnswer seen = client.get(server.origin() + "/x");
    EXPECT_EQ(seen.status, 200);
    EXPECT_EQ(seen.body, some_bytes(300'000));
  }
  EXPECT_EQ(server.connections(), 1U);
}

TEST(LoopbackServer, HandsTheRequestOver) {
  LoopbackServer server("127.0.0.2", [](const LoopbackRequest& request) {
    return plain_answer(request.method + " " + request.target + " " + request.host + " " +
                        request.headers.at("x-some-name"));
  });
  const std::string& origin = server.origin();
  EXPECT_EQ(LoopbackClient().get(origin + "/a%2Fb?c=d", {"X-Some-Name: a value"}).body,
            "GET /a%2Fb?c=d " + origin.substr(origin.find("127")) + " a value");
}

TEST(LoopbackServer, AnswersHeadWithoutTheBody) {
  LoopbackServer server("127.0.0.1", always(plain_answer("four")));
  EXPECT_EQ(LoopbackClient().head(server.origin()).header("content-length"), "4");
  EXPECT_TRUE(raw_exchange(server.origin(), "HEAD / HTTP/1.0\r\n\r\n").ends_with("\r\n\r\n"));
}

TEST(LoopbackServer, DropsTheConnectionAfterSoManyBytes) {
  LoopbackAnswer answer = plain_answer(some_bytes(200'000));
  answer.drop_after = 150'000;
  LoopbackServer orderly("127.0.0.1", always(answer));
  answer.hard_drop = true;
  LoopbackServer hard("127.0.0.1", always(answer));
  const SeenAnswer ended = LoopbackClient().get(orderly.origin());
  EXPECT_EQ(ended.outcome, CURLE_PARTIAL_FILE);
  EXPECT_EQ(ended.body, some_bytes(200'000).substr(0, 150'000));
  const SeenAnswer reset = LoopbackClient().get(hard.origin());
  EXPECT_EQ(reset.outcome, CURLE_RECV_ERROR);
  EXPECT_LE(reset.body.size(), 150'000U);
}

TEST(LoopbackServer, StallsUntilTheClientLeaves) {
  LoopbackAnswer answer = plain_answer(some_bytes(1000));
  answer.stall_after = 10;
  LoopbackServer server("127.0.0.1", always(answer));
  const SeenAnswer seen = LoopbackClient(short_patience).get(server.origin());
  EXPECT_EQ(seen.outcome, CURLE_OPERATION_TIMEDOUT);
  EXPECT_EQ(seen.body, some_bytes(1000).substr(0, 10));
}

TEST(LoopbackServer, EndsWhileConnectionsStall) {
  std::promise<void> sending;
  std::once_flag once;
  LoopbackAnswer answer = plain_answer("12345");
  answer.stall_after = 3;
  answer.on_sending = [&](std::size_t, bool) { std::call_once(once, [&] { sending.set_value(); }); };
  auto server = std::make_unique<LoopbackServer>("127.0.0.1", always(answer));
  std::string received;
  std::thread waiting(
      [&received, origin = server->origin()] { received = raw_exchange(origin, "GET / HTTP/1.1\r\n\r\n"); });
  sending.get_future().wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  server.reset();
  waiting.join();
  EXPECT_TRUE(received.starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST(LoopbackServer, SendsChunksOrSlowly) {
  LoopbackAnswer answer = plain_answer(some_bytes(200'000));
  answer.chunked = true;
  LoopbackServer chunked("127.0.0.1", always(answer));
  const SeenAnswer seen = LoopbackClient().get(chunked.origin());
  EXPECT_EQ(seen.outcome, CURLE_OK);
  EXPECT_EQ(seen.header("content-length"), "");
  EXPECT_EQ(seen.body, some_bytes(200'000));

  answer.chunked = false;
  answer.bytes_per_second = 1'000'000;
  LoopbackServer slow("127.0.0.1", always(answer));
  const auto begin = Clock::now();
  EXPECT_EQ(LoopbackClient().get(slow.origin()).body, some_bytes(200'000));
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(150));
}

TEST(LoopbackServer, RefusesOtherMethodsAndClosesOnNonsense) {
  LoopbackServer server("127.0.0.1", always(plain_answer("four")));
  const auto answer = [&](const std::string& bytes) { return raw_exchange(server.origin(), bytes); };
  EXPECT_TRUE(
      answer("POST / HTTP/1.1\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc").starts_with("HTTP/1.1 405 "));
  EXPECT_EQ(answer("nonsense\r\n\r\n"), "");
  EXPECT_EQ(answer(std::string(200'000, 'x')), "");
}

TEST(LoopbackServer, AnswersRequestsThatArriveTogether) {
  LoopbackServer server("127.0.0.1", [](const LoopbackRequest& request) { return plain_answer(request.target); });
  const std::string both = raw_exchange(server.origin(), "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.0\r\n\r\n");
  EXPECT_NE(both.find("\r\n\r\n/aHTTP/1.1 200 OK"), std::string::npos);
  EXPECT_TRUE(both.ends_with("\r\n\r\n/b"));
}

TEST(LoopbackHub, NamesFilesAsGitAndTheStorageDo) {
  EXPECT_EQ(file_etag("", false), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(file_etag("hello\n", false), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(file_etag("abc", true), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/// A Hub with one repository: three files on main, one on a branch with a slash in its name, one tag.
class LoopbackHubTest : public ::testing::Test {
 protected:
  LoopbackHubTest() {
    hub.add_file(repo, "main", "README.md", "read me\n", false);
    hub.add_file(repo, "main", "l 0/q.parquet", large, true);
    hub.add_file(repo, "main", "empty", "", false);
    hub.add_file(repo, "some/branch", "README.md", "another\n", false);
    hub.add_tag(repo, "v1", "main");
  }

  std::string api(const std::string& rest) const { return hub.endpoint() + "/api/datasets/org/name" + rest; }
  std::string file(const std::string& path) const { return hub.endpoint() + "/datasets/org/name/resolve/main/" + path; }
  /// The signed address of the large file in the storage.
  std::string stored() { return client.head(file("l%200/q.parquet")).header("location"); }

  const std::string repo = "org/name";
  const std::string large = some_bytes(20'000);
  LoopbackHub hub;
  LoopbackClient client;
};

TEST_F(LoopbackHubTest, TellsTheCommitAndTheFiles) {
  const SeenAnswer seen = client.get(api("/revision/main"));
  const json info = json::parse(seen.body);
  EXPECT_EQ(info.at("id"), repo);
  EXPECT_EQ(info.at("sha"), hub.commit(repo, "main"));
  EXPECT_EQ(info.at("siblings"),
            json::parse(R"([{"rfilename":"README.md"},{"rfilename":"empty"},{"rfilename":"l 0/q.parquet"}])"));
  EXPECT_EQ(seen.header("ratelimit"), "\"api\";r=499;t=120");
  EXPECT_EQ(json::parse(client.get(api("/revision/some%2Fbranch")).body).at("sha"), hub.commit(repo, "some/branch"));
  EXPECT_EQ(client.get(api("/revision/some/branch")).status, 404);
  EXPECT_EQ(json::parse(client.get(api("/revision/v1")).body).at("sha"), hub.commit(repo, "main"));
}

TEST_F(LoopbackHubTest, MovesTheCommitWithTheFilesAndKeepsTheOldOne) {
  const std::string before = hub.commit(repo, "main");
  EXPECT_EQ(before.size(), 40U);
  hub.add_file(repo, "main", "README.md", "changed\n", false);
  const std::string after = hub.commit(repo, "main");
  EXPECT_NE(before, after);
  const auto etag_at = [&](const std::string& revision) {
    const SeenAnswer seen = client.head(hub.endpoint() + "/datasets/org/name/resolve/" + revision + "/README.md");
    EXPECT_EQ(seen.header("x-repo-commit"), revision);
    return client.get(hub.endpoint() + seen.header("location")).header("etag");
  };
  EXPECT_EQ(etag_at(before), "\"" + file_etag("read me\n", false) + "\"");
  EXPECT_EQ(etag_at(after), "\"" + file_etag("changed\n", false) + "\"");
  EXPECT_EQ(hub.commit(repo, "v1"), before);
}

TEST_F(LoopbackHubTest, ListsTheTreeInPages) {
  HubRepoOptions options;
  options.page_size = 2;
  hub.set_options(repo, options);
  std::vector<json> entries;
  std::vector<std::size_t> sizes;
  for (std::string next = api("/tree/main?recursive=true&expand=false"); !next.empty();) {
    const SeenAnswer seen = client.get(next);
    const json page = json::parse(seen.body);
    sizes.push_back(page.size());
    entries.insert(entries.end(), page.begin(), page.end());
    const std::string link = seen.header("link");
    next = link.empty() ? "" : link.substr(1, link.find('>') - 1);
    EXPECT_TRUE(link.empty() || link.ends_with(">; rel=\"next\""));
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 2}));
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].at("oid"), file_etag("read me\n", false));
  EXPECT_FALSE(entries[0].contains("lfs"));
  EXPECT_EQ(entries[2].at("type"), "directory");
  EXPECT_EQ(entries[3].at("path"), "l 0/q.parquet");
  EXPECT_EQ(entries[3].at("size"), large.size());
  EXPECT_EQ(entries[3].at("lfs").at("oid"), file_etag(large, true));
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:" + file_etag(large, true) + "\nsize 20000\n";
  EXPECT_EQ(entries[3].at("oid"), file_etag(pointer, false));
  EXPECT_EQ(entries[3].at("lfs").at("pointerSize"), pointer.size());
  EXPECT_EQ(json::parse(client.get(api("/tree/main")).body).size(), 2U);
  EXPECT_EQ(json::parse(client.get(api("/tree/main/l%200")).body).size(), 1U);
}

TEST_F(LoopbackHubTest, ListsBranchesAndTags) {
  const json refs = json::parse(client.get(api("/refs")).body);
  ASSERT_EQ(refs.at("branches").size(), 2U);
  EXPECT_EQ(refs.at("branches")[1].at("ref"), "refs/heads/some/branch");
  EXPECT_EQ(refs.at("tags")[0].at("targetCommit"), hub.commit(repo, "main"));
}

TEST_F(LoopbackHubTest, SendsASmallFileThroughARelativeRedirect) {
  const SeenAnswer first = client.head(file("README.md"));
  EXPECT_EQ(first.status, 307);
  EXPECT_EQ(first.header("x-repo-commit"), hub.commit(repo, "main"));
  EXPECT_TRUE(first.header("location").starts_with("/api/resolve-cache/datasets/org/name/" + hub.commit(repo, "main")));
  const SeenAnswer second = client.get(hub.endpoint() + first.header("location"));
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(second.header("etag"), "\"" + file_etag("read me\n", false) + "\"");
  EXPECT_EQ(second.body, "read me\n");
  EXPECT_EQ(client.get(file("empty")).status, 200);
}

TEST_F(LoopbackHubTest, SendsALargeFileFromAnotherHost) {
  const SeenAnswer first = client.get(file("l%200/q.parquet"));
  EXPECT_EQ(first.status, 302);
  EXPECT_EQ(first.header("x-linked-etag"), "\"" + file_etag(large, true) + "\"");
  EXPECT_EQ(first.header("x-linked-size"), "20000");
  EXPECT_TRUE(first.header("location").starts_with("http://127.0.0.2:"));
  const SeenAnswer second = client.get(first.header("location"));
  EXPECT_EQ(second.body, large);
  EXPECT_NE(second.header("etag"), first.header("x-linked-etag"));
}

TEST_F(LoopbackHubTest, SendsParts) {
  const auto part = [&](const std::string& range) { return client.get(stored(), {"Range: bytes=" + range}); };
  EXPECT_EQ(part("100-199").status, 206);
  EXPECT_EQ(part("100-199").header("content-range"), "bytes 100-199/20000");
  EXPECT_EQ(part("100-199").body, large.substr(100, 100));
  EXPECT_EQ(part("19999-").body, large.substr(19'999));
  EXPECT_EQ(part("19999-99999").body, large.substr(19'999));
  EXPECT_EQ(part("-5").body, large.substr(19'995));
  EXPECT_EQ(part("20000-").status, 416);
  EXPECT_EQ(part("20000-").header("content-range"), "bytes */20000");
  EXPECT_EQ(part("0-1,4-5").body, large);
}

TEST_F(LoopbackHubTest, RefusesTokensAndOldAddressesInTheStorage) {
  const std::string address = stored();
  hub.accept_token("hf_x");
  EXPECT_EQ(client.get(address, {"Authorization: Bearer hf_x"}).status, 400);
  EXPECT_EQ(hub.requests({HubHost::storage}).back().headers.at("authorization"), "Bearer hf_x");
  EXPECT_EQ(client.get(address.substr(0, address.find('?'))).status, 403);
  hub.expire_addresses();
  EXPECT_EQ(client.get(address).status, 403);
  EXPECT_EQ(client.get(stored()).body, large);
}

TEST_F(LoopbackHubTest, RefusesAsTheHubDoes) {
  const auto refused = [](const SeenAnswer& seen) {
    return std::to_string(seen.status) + " " + seen.header("x-error-code") + " " + seen.header("x-error-message");
  };
  const std::vector<std::string> wrong{"Authorization: Bearer hf_wrong"};
  const std::vector<std::string> other{"Authorization: Bearer hf_other"};
  const std::vector<std::string> right{"Authorization: Bearer hf_right"};
  hub.accept_token("hf_other");
  EXPECT_EQ(refused(client.get(api("x/revision/main"))), "401  Invalid username or password.");
  EXPECT_EQ(refused(client.get(api("x/revision/main"), other)), "404 RepoNotFound Repository not found");
  EXPECT_EQ(refused(client.get(api("/revision/main"), wrong)), "401  Invalid credentials in Authorization header");
  EXPECT_EQ(refused(client.get(api("/revision/nope"))), "404 RevisionNotFound Invalid rev id: nope");
  EXPECT_EQ(refused(client.head(file("nope"))), "404 EntryNotFound Entry not found");
  EXPECT_EQ(client.head(file("nope")).header("x-repo-commit"), hub.commit(repo, "main"));

  HubRepoOptions options;
  options.token = "hf_right";
  options.gated = true;
  hub.set_options(repo, options);
  EXPECT_EQ(client.get(api("/tree/main")).status, 200);
  EXPECT_TRUE(refused(client.head(file("README.md"))).starts_with("401 GatedRepo "));
  EXPECT_TRUE(refused(client.head(file("README.md"), other)).starts_with("403 GatedRepo "));
  EXPECT_EQ(client.get(file("README.md"), right).body, "read me\n");
  options.gated = false;
  options.is_private = true;
  hub.set_options(repo, options);
  EXPECT_EQ(refused(client.get(api("/tree/main"))), "401  Invalid username or password.");
  EXPECT_EQ(refused(client.head(file("README.md"), other)), "404 RepoNotFound Repository not found");
  EXPECT_EQ(client.get(file("README.md"), right).body, "read me\n");
  options.disabled = true;
  hub.set_options(repo, options);
  EXPECT_EQ(refused(client.get(api("/refs"), right)), "403  Access to this resource is disabled.");
}

TEST_F(LoopbackHubTest, SpoilsTheNextAnswersThatFit) {
  hub.inject({HubHost::api, "/revision/", "GET"}, refuse_with(429, {{"Retry-After", "2"}}), 2);
  EXPECT_EQ(client.get(api("/refs")).status, 200);
  EXPECT_EQ(client.head(api("/revision/main")).status, 200);
  EXPECT_EQ(client.get(api("/revision/main")).header("retry-after"), "2");
  EXPECT_EQ(hub.faults_left(), 1U);
  EXPECT_EQ(client.get(api("/revision/main")).status, 429);
  EXPECT_EQ(client.get(api("/revision/main")).status, 200);
}

TEST_F(LoopbackHubTest, SpoilsFilesInEveryWay) {
  const auto spoiled = [&](LoopbackFault fault, bool patient = true) {
    const std::string address = stored();
    hub.inject({HubHost::storage}, std::move(fault));
    return (patient ? LoopbackClient() : LoopbackClient(short_patience)).get(address, {"Range: bytes=1000-"});
  };
  const std::string rest = large.substr(1000);
  EXPECT_EQ(spoiled({}).body, rest);
  EXPECT_EQ(spoiled(drop_after(5)).body, rest.substr(0, 5));
  EXPECT_EQ(spoiled(reset_after(5)).outcome, CURLE_RECV_ERROR);
  EXPECT_EQ(spoiled(stall_after(5), false).outcome, CURLE_OPERATION_TIMEDOUT);
  EXPECT_EQ(spoiled(truncate_to(5)).outcome, CURLE_OK);
  EXPECT_EQ(spoiled(truncate_to(5)).body, rest.substr(0, 5));
  EXPECT_EQ(spoiled(flip_byte(7)).body.substr(0, 9),
            rest.substr(0, 7) + static_cast<char>(static_cast<unsigned char>(rest[7]) ^ 1U) + rest.substr(8, 1));
  EXPECT_EQ(spoiled(ignore_range()).status, 200);
  EXPECT_EQ(spoiled(ignore_range()).body, large);
  EXPECT_TRUE(spoiled(html_page()).body.starts_with("<!doctype html>"));
  EXPECT_EQ(spoiled(with_header("etag", "other")).header("etag"), "other");
  EXPECT_EQ(spoiled(with_body("{")).body, "{");
  EXPECT_EQ(spoiled(redirect_to("/loop")).header("location"), "/loop");
  EXPECT_EQ(spoiled(slow_down_to(10'000), false).outcome, CURLE_OPERATION_TIMEDOUT);
  EXPECT_EQ(hub.faults_left(), 0U);
}

TEST_F(LoopbackHubTest, ServesPathsThatLeaveTheFolder) {
  hub.add_file(repo, "main", "../../outside", "x", false);
  const std::string tree = client.get(api("/tree/main?recursive=true")).body;
  EXPECT_NE(tree.find("\"path\":\"../../outside\""), std::string::npos);
  EXPECT_NE(client.get(api("/revision/main")).body.find("../../outside"), std::string::npos);
}

TEST_F(LoopbackHubTest, RemembersRequests) {
  std::vector<std::string> ended;
  hub.on_ended([&](const HubRequest& request) { ended.push_back(request.method); });
  const std::string address = stored();
  client.get(address, {"Range: bytes=500-"});
  hub.inject({}, drop_after(123));
  client.get(address);
  const auto requests = hub.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].method, "HEAD");
  EXPECT_EQ(requests[0].status, 302);
  EXPECT_EQ(requests[0].body_bytes, 0U);
  EXPECT_EQ(requests[1].headers.at("range"), "bytes=500-");
  EXPECT_EQ(requests[1].body_bytes, large.size() - 500);
  EXPECT_EQ(requests[2].body_bytes, 123U);
  EXPECT_EQ(hub.requests({HubHost::storage, "Signature", "GET"}).size(), 2U);
  EXPECT_EQ(hub.requests({{}, "no such part"}).size(), 0U);
  EXPECT_EQ(ended, (std::vector<std::string>{"HEAD", "GET", "GET"}));
  hub.reset();
  EXPECT_TRUE(hub.requests().empty());
}

TEST_F(LoopbackHubTest, ServesManyAtOnce) {
  constexpr std::size_t clients = 8;
  constexpr std::size_t rounds = 10;
  std::atomic<std::size_t> whole = 0;
  std::vector<std::thread> threads;
  threads.reserve(clients);
  for (std::size_t i = 0; i < clients; ++i) {
    threads.emplace_back([&] {
      for (std::size_t round = 0; round < rounds; ++round) {
        LoopbackClient own;
        const std::string address = own.head(file("l%200/q.parquet")).header("location");
        whole += own.get(address).body == large ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(whole, clients * rounds);
  const auto requests = hub.requests({HubHost::storage});
  EXPECT_EQ(requests.size(), clients * rounds);
  EXPECT_TRUE(std::all_of(requests.begin(), requests.end(),
                          [&](const HubRequest& request) { return request.body_bytes == large.size(); }));
}

}  // namespace
}  // namespace attention_plasticity
