#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/hub/loopback_server_testing.h"

namespace attention_plasticity {

/// For tests: what is wrong with an answer of LoopbackHub. Either function may be empty.
struct LoopbackFault {
  std::function<void(LoopbackRequest&)> change_request;  ///< before the Hub looks at it
  std::function<void(LoopbackAnswer&)> change_answer;    ///< before it is sent
};

/// 429, 503 and the like in place of the answer.
LoopbackFault refuse_with(int status, std::vector<std::pair<std::string, std::string>> headers = {});
/// The connection ends after so many bytes of the body.
LoopbackFault drop_after(std::size_t bytes);
/// The same by a TCP reset.
LoopbackFault reset_after(std::size_t bytes);
/// Nothing more comes after so many bytes of the body.
LoopbackFault stall_after(std::size_t bytes);
LoopbackFault slow_down_to(std::size_t bytes_per_second);
LoopbackFault send_chunked();
/// A whole answer, to its headers, of a body that is cut short.
LoopbackFault truncate_to(std::size_t bytes);
/// The body's byte at `offset` is another one; the last byte when the body is shorter.
LoopbackFault flip_byte(std::size_t offset);
/// The whole file is sent to who asked for a part of it.
LoopbackFault ignore_range();
/// A page with status 200, as the portals of public networks send it in place of anything.
LoopbackFault html_page();
/// The answer with another header or another body.
LoopbackFault with_header(std::string name, std::string value);
LoopbackFault with_body(std::string body);
LoopbackFault redirect_to(std::string location);

}  // namespace attention_plasticity
