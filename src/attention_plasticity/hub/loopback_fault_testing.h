#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

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
/// The same with a TCP reset.
LoopbackFault reset_after(std::size_t bytes);
/// Sends nothing more after this number of bytes of the body.
LoopbackFault stall_after(std::size_t bytes);
LoopbackFault slow_down_to(std::size_t bytes_per_second);
/// Cuts the body short; the headers tell the shorter length.
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

}  // namespace attention_plasticity
