#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/json/json.h"
#include "attention_plasticity/run/engine.h"

// Both sides send lines of JSON; one with the key "bytes" is followed by that many bytes.
//
//     to the process     {"do": "measure", "groups": [{"heads": [[layer, q_head, k_head], ...], "memory": 123}, ...],
//                         "most_at_a_time": null, "bytes": 12345} and the manifest of the run
//                        {"do": "stop"}; it ends when its input does
//     from the process   {"told": "ready"} once
//                        {"told": "measured", "group": 7, "bytes": 12345} and what its HeadWorker returned
//                        {"told": "failed", "group": 7, "line": "..."}, {"told": "note" or "warning", "line": "..."}
//                        {"told": "done"} when all groups were told, or after a stop
//                        {"told": "error", "exit_code": 3, "line": "...", "file": "..."} instead of ready or done

namespace attention_plasticity {

/// A process that measures the KV groups of runs, or has others measure them.
class EngineProcess {
 public:
  /// A program that was started, with pipes to its standard input and from its standard output.
  struct Child {
    explicit Child(std::vector<std::string> words);
    /// Closes its input, upon which it ends, and waits for that.
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    pid_t pid = -1;
    int to = -1;
    int from = -1;
  };

  /// Starts a program and waits until it is ready. Its standard error is ours. Throws Error as it tells, Error(network)
  /// when it ends without a word, and Stopped.
  EngineProcess(std::vector<std::string> words, const std::stop_token& stop);

  /// As Engine. When a receiver throws, or the process does not do as it should, the process is ended; the next
  /// call starts a new one, so that it never takes what is left of an earlier run.
  void measure(const EngineWork& work, const EngineReceiver& receiver, const std::stop_token& stop);

 private:
  struct Message {
    Json head;
    std::string bytes;
  };
  void start(const std::stop_token& stop);
  void send(std::string_view bytes) const;
  // The next message; none when a stop was requested first, unless `waits`.
  std::optional<Message> receive(const std::stop_token& stop, bool waits);
  bool fill(const std::stop_token& stop, bool waits);

  std::vector<std::string> words_;
  std::unique_ptr<Child> child_;  // null: it was ended
  std::string buffer_;            // received, and not taken yet
};

}  // namespace attention_plasticity
