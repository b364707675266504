#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// How to reach the Hub, and where to keep its files.
struct HubSettings {
  std::string endpoint = "https://huggingface.co";  ///< without a slash at the end
  std::string token;                                ///< sent only to the endpoint; empty: none
  std::filesystem::path cache;                      ///< the folder that holds datasets--org--name
  bool offline = false;
  bool use_symlinks = true;  ///< if the file system has them; otherwise files are copied

  std::chrono::seconds answer_timeout{10};  ///< to connect, and without a byte of an answer of the API
  std::chrono::seconds stall_timeout{10};   ///< without a byte of a file
  std::string ca_file;                      ///< trusted certificates; empty: those of the system
  std::string ca_folder;                    ///< folder of trusted certificates; empty: that of the system

  int attempts = 6;                             ///< for one request; for a file, attempts in a row without progress
  std::chrono::milliseconds first_pause{1000};  ///< between the first two attempts; each pause is twice the last one
  /// Called in place of a real pause, for tests.
  std::function<void(std::chrono::milliseconds)> pause;
};

/// Returns the value of a variable; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// Reads the settings from the variables of the Python client:
///
///     HF_ENDPOINT
///     HF_TOKEN, HUGGING_FACE_HUB_TOKEN, else the file HF_TOKEN_PATH or HF_HOME/token;
///         with HF_HUB_DISABLE_IMPLICIT_TOKEN no token is used
///     HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, else HF_HOME/hub; HF_HOME is XDG_CACHE_HOME/huggingface or
///         ~/.cache/huggingface. `~` and `$NAME` are replaced. Without HOME, `cache` may be left empty.
///     HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE, HF_HUB_DISABLE_SYMLINKS
///     HF_HUB_ETAG_TIMEOUT, HF_HUB_DOWNLOAD_TIMEOUT
///     REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, SSL_CERT_FILE: the first that is set; SSL_CERT_DIR
///
/// An empty variable counts as not set. libcurl itself reads the variables of proxies. Throws Error(usage) for a value
/// that cannot be used; the message never shows a token or an address.
HubSettings hub_settings(const Environment& environment);

}  // namespace attention_plasticity
