#pragma once

#include <array>
#include <string>
#include <string_view>

// Addresses of object stores may hold credentials: s3://KEY:SECRET@bucket/dump?token=SECRET. An address that is passed
// where a path is expected is quoted in messages, without its credentials.

namespace attention_plasticity {

inline constexpr std::array<std::string_view, 8> store_schemes{"s3",    "gs",   "gcs",    "abfs",
                                                               "abfss", "hdfs", "viewfs", "file"};

/// True if an option of an address, such as "region=eu-west-1", holds no credentials.
bool is_open_option(std::string_view option);

/// `text` without the credentials of the addresses in it: the names and passwords before @, where the name is not that
/// of a container or of a user of HDFS, and the values of options that are not known to be open, which become ***.
/// Text without such addresses is unchanged.
std::string without_address_secrets(std::string_view text);

}  // namespace attention_plasticity
