#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attention_plasticity {

/// Whether a text is an address such as s3://bucket/dump, and not a path on disk.
bool is_store_address(std::string_view text);

/// The address of a folder in an object store, spelled as Arrow spells it:
///
///     s3://bucket/dump?region=eu-west-1     gs://bucket/dump     abfs://container@account.dfs.core.windows.net/dump
///     hdfs://host:port/dump                 file:///dump
///
/// It may hold credentials (s3://KEY:SECRET@bucket/dump), which leave it through `full` alone.
class StoreAddress {
 public:
  /// Throws Error(usage), without the address itself, for a scheme that is not one of these.
  explicit StoreAddress(std::string_view text);

  /// As it was given, with credentials. For Arrow alone: never to be printed or written.
  const std::string& full() const { return full_; }
  /// For people, and the beginning of the paths of files: without credentials and options, no slash at its end.
  const std::string& shown() const { return shown_; }
  /// The same with those options that hold no credentials, so that it can be used again.
  const std::string& recorded() const { return recorded_; }
  const std::string& scheme() const { return scheme_; }

  /// A text of Arrow, or of a server, with the credentials of this address blotted out.
  std::string without_secrets(std::string text) const;

 private:
  std::string full_;
  std::string scheme_;
  std::string shown_;
  std::string recorded_;
  std::vector<std::string> secrets_;
};

/// A path on disk as it is; an address as StoreAddress::recorded() has it.
std::string without_credentials(const std::string& path_or_address);

}  // namespace attention_plasticity
