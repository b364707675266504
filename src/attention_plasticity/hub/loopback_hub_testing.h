#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attention_plasticity/hub/loopback_repo_testing.h"
#include "attention_plasticity/hub/loopback_server_testing.h"

namespace attention_plasticity {

/// For tests: a fault of LoopbackHub. Either function may be empty.
struct LoopbackFault {
  std::function<void(LoopbackRequest&)> change_request;  ///< before the Hub reads it
  std::function<void(LoopbackAnswer&)> change_answer;    ///< before it is sent
};

/// Answers with this status and these headers.
LoopbackFault refuse_with(int status, std::vector<std::pair<std::string, std::string>> headers = {});
/// Closes the connection after this number of bytes of the body.
LoopbackFault drop_after(std::size_t bytes);
/// Closes the connection with a TCP reset after this number of bytes of the body.
LoopbackFault reset_after(std::size_t bytes);
/// Sends nothing more after this number of bytes of the body.
LoopbackFault stall_after(std::size_t bytes);
LoopbackFault slow_down_to(std::size_t bytes_per_second);
/// Cuts the body short; the headers have the shorter length.
LoopbackFault truncate_to(std::size_t bytes);
/// Changes the body's byte at `offset`, or the last byte of a shorter body.
LoopbackFault flip_byte(std::size_t offset);
/// Sends the whole file in place of the requested part.
LoopbackFault ignore_range();
/// Sends a web page with status 200, as login portals of public networks do.
LoopbackFault html_page();
/// Replaces a header or the body.
LoopbackFault with_header(std::string name, std::string value);
LoopbackFault with_body(std::string body);
LoopbackFault redirect_to(std::string location);

enum class HubHost { api, storage };

/// A request that reached LoopbackHub.
struct HubRequest {
  std::string method;
  HubHost host = HubHost::api;
  std::string target;
  std::map<std::string, std::string> headers;  ///< by name in lower case
  int status = 0;
  std::size_t body_bytes = 0;  ///< bytes of the body sent so far
  bool ended = false;          ///< no more bytes will be sent
};

/// Selects requests. An empty member fits every request.
struct HubRequestPattern {
  std::optional<HubHost> host = {};
  std::string target_part = {};
  std::string method = {};
};

/// For tests: datasets served as the Hugging Face Hub serves them to its Python client. The API is at 127.0.0.1; large
/// files are at 127.0.0.2, which refuses requests that carry a token, as storage with signed addresses does.
class LoopbackHub {
 public:
  LoopbackHub();
  ~LoopbackHub();
  LoopbackHub(const LoopbackHub&) = delete;
  LoopbackHub& operator=(const LoopbackHub&) = delete;

  /// The value for HF_ENDPOINT.
  const std::string& endpoint() const { return api_->origin(); }
  const std::string& storage_origin() const { return storage_origin_; }

  /// Adds or replaces a file of a branch. Creates the repository and the branch when they do not exist. Accepts any
  /// path, also one that leaves the folder it is appended to.
  void add_file(const std::string& repo, const std::string& branch, const std::string& path, std::string content,
                bool large);
  void add_tag(const std::string& repo, const std::string& tag, const std::string& branch);
  void set_options(const std::string& repo, HubRepoOptions options);
  /// Adds a token that opens no private repository. Tokens that neither this nor HubRepoOptions names are wrong.
  void accept_token(const std::string& token);

  /// The commit of a branch or tag. It depends on the files alone. Earlier commits are still served.
  std::string commit(const std::string& repo, const std::string& revision);

  /// Applies a fault to the next `times` requests that fit. Of several faults that fit, the first injected is used.
  void inject(HubRequestPattern requests, LoopbackFault fault, std::size_t times = 1);
  /// The number of requests that injected faults still wait for.
  std::size_t faults_left() const;
  /// Refuses, from now on, the storage addresses that were given out so far.
  void expire_addresses();
  /// Limits the rate of each body; 0: no limit.
  void set_bytes_per_second(std::size_t bytes_per_second);

  /// All requests, or those that fit, in the order of arrival.
  std::vector<HubRequest> requests() const;
  std::vector<HubRequest> requests(const HubRequestPattern& pattern) const;
  /// Forgets requests and faults.
  void reset();
  /// Sets a function that is called with each request just before the last bytes of its body are sent, by one thread at
  /// a time.
  void on_ended(std::function<void(const HubRequest&)> observer);

 private:
  struct PendingFault {
    HubRequestPattern requests;
    LoopbackFault fault;
    std::size_t times = 0;
  };

  LoopbackAnswer answer(HubHost host, LoopbackRequest request);
  std::optional<LoopbackFault> take_fault(const HubRequest& request);
  void count_bytes(HubRequest& request, std::size_t sent, bool ended);

  LoopbackAnswer answer_api(const LoopbackRequest& request);
  LoopbackAnswer answer_storage(const LoopbackRequest& request) const;
  LoopbackAnswer answer_file(const LoopbackRequest& request, const std::string& repo, const LoopbackSnapshot& snapshot,
                             const std::string& path, bool may_redirect) const;
  std::optional<LoopbackAnswer> refuse(const LoopbackRequest& request, const std::string& name,
                                       const LoopbackRepo* repo, bool asks_for_file) const;
  std::string storage_address(const LoopbackFile& file) const;

  mutable std::mutex mutex_;
  std::map<std::string, LoopbackRepo> repos_;
  std::map<std::string, std::shared_ptr<const LoopbackFile>> stored_;  // large files by SHA-256
  std::set<std::string> tokens_;
  std::list<PendingFault> faults_;
  std::vector<std::shared_ptr<HubRequest>> requests_;
  std::function<void(const HubRequest&)> observer_;
  std::size_t bytes_per_second_ = 0;
  std::size_t address_generation_ = 0;
  std::string storage_origin_;
  // The last members: their threads use all others.
  std::unique_ptr<LoopbackServer> storage_;
  std::unique_ptr<LoopbackServer> api_;
};

}  // namespace attention_plasticity
