#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "attention_plasticity/export.h"

/// @file
/// How the Hugging Face Hub is reached, and how far downloads from it are.

namespace attention_plasticity {

/// How to reach the Hub, and where to keep its files.
struct HubSettings {
  std::string endpoint = "https://huggingface.co";  ///< without a slash at the end
  std::string token = {};                           ///< sent only to the endpoint; empty: none
  std::filesystem::path cache = {};                 ///< the folder that holds datasets--org--name; must not be empty
  bool offline = false;                             ///< only what the cache has is used
  bool use_symlinks = true;                         ///< if the file system has them; otherwise files are copied

  std::chrono::seconds answer_timeout{10};  ///< to connect, and without a byte of an answer of the API
  std::chrono::seconds stall_timeout{10};   ///< below 1 KiB/s of a file
  std::string ca_file = {};                 ///< trusted certificates; empty: those of the system
  std::string ca_folder = {};               ///< folder of trusted certificates; empty: that of the system

  int attempts = 6;                             ///< for one request; for a file, attempts in a row without progress
  std::chrono::milliseconds first_pause{1000};  ///< between the first two attempts; each pause is twice the last one
  /// Called in place of a real pause, for tests.
  std::function<void(std::chrono::milliseconds)> pause = {};
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
/// An empty variable counts as not set. libcurl itself reads the variables of proxies. The library never reads the
/// environment by itself: hand it std::getenv, or what stands for it. Throws Error(usage) for a value that cannot be
/// used; the message never shows a token or an address. Thread-safe if `environment` is.
AP_API HubSettings hub_settings(const Environment& environment);

/// How far downloads are.
struct DownloadProgress {
  std::size_t files = 0;           ///< files that are complete
  std::size_t all_files = 0;       ///< files to download
  std::uint64_t bytes = 0;         ///< bytes on disk, of complete and partial files
  std::uint64_t all_bytes = 0;     ///< bytes to download
  std::uint64_t bytes_before = 0;  ///< the part of `bytes` that an earlier run left; leave it out of the rate
};

}  // namespace attention_plasticity
