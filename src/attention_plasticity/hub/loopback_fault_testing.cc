#include "attention_plasticity/hub/loopback_fault_testing.h"

#include <algorithm>

namespace attention_plasticity {
namespace {

LoopbackFault wrong_answer(std::function<void(LoopbackAnswer&)> change) { return {{}, std::move(change)}; }

}  // namespace

LoopbackFault refuse_with(int status, std::vector<std::pair<std::string, std::string>> headers) {
  return wrong_answer([status, headers = std::move(headers)](LoopbackAnswer& answer) {
    answer.status = status;
    answer.headers = headers;
    answer.body = "refused by the test\n";
  });
}

LoopbackFault drop_after(std::size_t bytes) {
  return wrong_answer([bytes](LoopbackAnswer& answer) { answer.drop_after = bytes; });
}

LoopbackFault reset_after(std::size_t bytes) {
  return wrong_answer([bytes](LoopbackAnswer& answer) {
    answer.drop_after = bytes;
    answer.hard_drop = true;
  });
}

LoopbackFault stall_after(std::size_t bytes) {
  return wrong_answer([bytes](LoopbackAnswer& answer) { answer.stall_after = bytes; });
}

LoopbackFault slow_down_to(std::size_t bytes_per_second) {
  return wrong_answer([bytes_per_second](LoopbackAnswer& answer) { answer.bytes_per_second = bytes_per_second; });
}

LoopbackFault truncate_to(std::size_t bytes) {
  return wrong_answer([bytes](LoopbackAnswer& answer) { answer.body.resize(std::min(bytes, answer.body.size())); });
}

LoopbackFault flip_byte(std::size_t offset) {
  return wrong_answer([offset](LoopbackAnswer& answer) {
    if (answer.body.empty()) return;
    char& byte = answer.body[std::min(offset, answer.body.size() - 1)];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ 1U);
  });
}

LoopbackFault ignore_range() {
  return {[](LoopbackRequest& request) { request.headers.erase("range"); }, {}};
}

LoopbackFault html_page() {
  return wrong_answer([](LoopbackAnswer& answer) {
    answer.status = 200;
    answer.headers = {{"Content-Type", "text/html; charset=utf-8"}};
    answer.body = "<!doctype html>\n<html><head><title>Sign in</title></head><body>Sign in to go on.</body></html>\n";
  });
}

LoopbackFault with_header(std::string name, std::string value) {
  return wrong_answer(
      [name = std::move(name), value = std::move(value)](LoopbackAnswer& answer) { answer.set_header(name, value); });
}

LoopbackFault with_body(std::string body) {
  return wrong_answer([body = std::move(body)](LoopbackAnswer& answer) { answer.body = body; });
}

LoopbackFault redirect_to(std::string location) {
  return wrong_answer([location = std::move(location)](LoopbackAnswer& answer) {
    answer.status = 302;
    answer.body.clear();
    answer.set_header("Location", location);
  });
}

}  // namespace attention_plasticity
