#include "engines.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/run/worker.h"
#include "cost.h"
#include "watched_call.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attention_plasticity::python {
namespace {

using HeadNumbers = std::tuple<int, int, int>;

// The receiver of an engine in Python.
class Receiver {
 public:
  Receiver(const EngineReceiver& receiver, std::stop_token stop) : receiver_(receiver), stop_(std::move(stop)) {}

  void measured(std::size_t group, const nb::bytes& bytes) const {
    const std::string_view view(bytes.c_str(), bytes.size());
    const nb::gil_scoped_release release;
    receiver_.measured(group, view);
  }
  void failed(std::size_t group, const std::string& why) const {
    const nb::gil_scoped_release release;
    receiver_.failed(group, why);
  }
  void note(const std::string& line) const { receiver_.note(line); }
  void warning(const std::string& line) const { receiver_.warning(line); }
  bool stopped() const { return stop_.stop_requested(); }

 private:
  const EngineReceiver& receiver_;
  std::stop_token stop_;
};

std::vector<std::pair<std::vector<HeadNumbers>, std::uint64_t>> groups_of(const EngineWork& work) {
  std::vector<std::pair<std::vector<HeadNumbers>, std::uint64_t>> groups;
  groups.reserve(work.groups.size());
  for (const KvGroup& group : work.groups) {
    auto& [heads, bytes] = groups.emplace_back();
    for (const HeadId& head : group.heads) heads.emplace_back(head.layer, head.q_head, head.k_head);
    bytes = group.bytes;
  }
  return groups;
}

nb::bytes measure(HeadWorker& worker, const std::vector<HeadNumbers>& numbers) {
  std::vector<HeadId> heads;
  heads.reserve(numbers.size());
  for (const auto& [layer, q_head, k_head] : numbers) heads.push_back({layer, q_head, k_head});
  const Cost cost(1);
  WatchedCall<int> call;
  std::string bytes;
  auto raised = call.run(
      [&](const std::stop_token& stop) {
        try {
          MeasuredGroup group = worker.measure(heads, stop);
          const RunResources resources = cost.until_now();
          group.cpu_s = resources.cpu_s;
          group.peak_rss_bytes = resources.peak_rss_bytes;
          bytes = group.bytes();
        } catch (const Stopped&) {
          return;  // what was raised says why
        }
      },
      [](int) {});
  if (raised) throw nb::python_error(std::move(*raised));
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

Engine engine_of(const nb::callable& engine) {
  return [&engine](const EngineWork& work, const EngineReceiver& receiver, const std::stop_token& stop) {
    const nb::gil_scoped_acquire acquire;
    engine(nb::cast(EngineWork(work)), nb::cast(Receiver(receiver, stop)));
  };
}

void bind_engines(nb::module_& module) {
  nb::class_<EngineWork>(module, "EngineWork", "KV groups of a run that an engine measures.")
      .def_prop_ro(
          "manifest", [](const EngineWork& work) { return work.manifest; },
          "The manifest of the run, for a HeadWorker.")
      .def_prop_ro("groups", &groups_of, "Heads, each (layer, q_head, k_head), and the memory in bytes of each group.")
      .def_prop_ro("most_at_a_time", [](const EngineWork& work) { return work.most_at_a_time; });
  nb::class_<Receiver>(module, "EngineReceiver", "Callbacks of an engine, while its call lasts.")
      .def("measured", &Receiver::measured, "group"_a, "bytes"_a, "Takes what HeadWorker.measure returned.")
      .def("failed", &Receiver::failed, "group"_a, "why"_a, "Fails the heads of a group.")
      .def("note", &Receiver::note, "line"_a)
      .def("warning", &Receiver::warning, "line"_a)
      .def("stopped", &Receiver::stopped, "Whether the engine should return without waiting for what is in flight.");
  nb::class_<HeadWorker>(module, "HeadWorker", "Measures heads of a run that another process prepared.")
      .def(nb::init<std::string_view>(), "manifest"_a)
      .def("measure", &measure, "heads"_a, "Measures heads on one thread; the bytes are for the engine's receiver.");
}

}  // namespace attention_plasticity::python
