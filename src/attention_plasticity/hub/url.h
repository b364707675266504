#pragma once

#include <string>
#include <string_view>

namespace attention_plasticity {

/// `reference`, which may be relative as in a redirect, seen from `base`. Throws Error(network) for what is no address
/// of http or https.
std::string resolved_url(const std::string& base, const std::string& reference);

/// Whether two addresses share scheme, host and port: what is meant for one of them may be sent to the other.
bool have_same_origin(const std::string& a, const std::string& b);

/// The host of an address, for messages: paths of file storage carry signatures that are nobody's business.
std::string url_host(const std::string& url);

/// Text as part of a path; slashes stand for themselves only where they part folders.
enum class Slashes { part_folders, encoded };
std::string percent_encoded(std::string_view text, Slashes slashes);

}  // namespace attention_plasticity
