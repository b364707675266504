#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// How the Hub is reached and where its files are kept.
struct HubSettings {
  std::string endpoint = "https://huggingface.co";  ///< without a slash at its end
  std::string token;                                ///< empty: none. Goes to the endpoint only.
  std::filesystem::path cache;                      ///< the folder that holds datasets--org--name
  bool offline = false;
  bool use_symlinks = true;  ///< where the file system has them

  std::chrono::seconds answer_timeout{10};  ///< to connect, and for an answer to begin
  std::chrono::seconds stall_timeout{10};   ///< without a byte while a file arrives
  std::string ca_file;                      ///< trusted certificates; empty: the system's
  std::string ca_folder;

  int attempts = 6;                             ///< at one request, or at a file without a byte of progress
  std::chrono::milliseconds first_pause{1000};  ///< between the first two; doubles from one to the next
  /// Waits in place of the system's clock; for tests.
  std::function<void(std::chrono::milliseconds)> pause;
};

/// Looks a variable up; none when it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// The settings as the variables of the Python client have them:
///
///     HF_ENDPOINT
///     HF_TOKEN, HUGGING_FACE_HUB_TOKEN, else the file HF_TOKEN_PATH or HF_HOME/token;
///         none of them with HF_HUB_DISABLE_IMPLICIT_TOKEN
///     HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, else HF_HOME/hub; HF_HOME is XDG_CACHE_HOME/huggingface or
///         ~/.cache/huggingface. `~` and `$NAME` are replaced. Without HOME, `cache` may be left empty.
///     HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE, HF_HUB_DISABLE_SYMLINKS
///     HF_HUB_ETAG_TIMEOUT, HF_HUB_DOWNLOAD_TIMEOUT
///     REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, SSL_CERT_FILE: the first that is set; SSL_CERT_DIR
///
/// An empty variable counts as not set. Proxies are libcurl's to read. Throws Error(usage) for a value that cannot be
/// used; the message never shows a token or an address.
HubSettings hub_settings(const Environment& environment);

}  // namespace attention_plasticity
