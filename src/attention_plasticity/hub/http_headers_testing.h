#pragma once

#include <string>
#include <vector>

#include "attention_plasticity/hub/http_headers.h"

namespace attention_plasticity {

/// For tests: the headers of these lines.
inline HttpHeaders headers_of(const std::vector<std::string>& lines) {
  HttpHeaders headers;
  for (const std::string& line : lines) headers.add_line(line);
  return headers;
}

}  // namespace attention_plasticity
