#include "parts.h"

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
#include "attention_plasticity/run/part_worker.h"
#include "cost.h"
#include "watched_call.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attention_plasticity::python {
namespace {

using HeadNumbers = std::tuple<int, int, int>;

// What an engine of Python talks to.
class Receiver {
 public:
  Receiver(const PartReceiver& receiver, std::stop_token stop) : receiver_(receiver), stop_(std::move(stop)) {}

  void measured(std::size_t part, const nb::bytes& bytes) const {
    const std::string_view view(bytes.c_str(), bytes.size());
    const nb::gil_scoped_release release;
    receiver_.measured(part, view);
  }
  void failed(std::size_t part, const std::string& why) const {
    const nb::gil_scoped_release release;
    receiver_.failed(part, why);
  }
  void note(const std::string& line) const { receiver_.note(line); }
  void warning(const std::string& line) const { receiver_.warning(line); }
  bool stopped() const { return stop_.stop_requested(); }

 private:
  const PartReceiver& receiver_;
  std::stop_token stop_;
};

std::vector<std::pair<std::vector<HeadNumbers>, std::uint64_t>> parts_of(const PartWork& work) {
  std::vector<std::pair<std::vector<HeadNumbers>, std::uint64_t>> parts;
  parts.reserve(work.parts.size());
  for (const KeyGroup& part : work.parts) {
    auto& [heads, bytes] = parts.emplace_back();
    for (const HeadId& head : part.heads) heads.emplace_back(head.layer, head.q_head, head.k_head);
    bytes = part.bytes;
  }
  return parts;
}

nb::bytes measure(PartWorker& worker, const std::vector<HeadNumbers>& numbers) {
  std::vector<HeadId> heads;
  heads.reserve(numbers.size());
  for (const auto& [layer, q_head, k_head] : numbers) heads.push_back({layer, q_head, k_head});
  const Cost cost(1);
  WatchedCall<int> call;
  std::string bytes;
  auto raised = call.run(
      [&](const std::stop_token& stop) {
        try {
          MeasuredPart part = worker.measure(heads, stop);
          const RunResources resources = cost.until_now();
          part.cpu_s = resources.cpu_s;
          part.peak_rss_bytes = resources.peak_rss_bytes;
          bytes = part.bytes();
        } catch (const Stopped&) {
          return;  // what was raised says why
        }
      },
      [](int) {});
  if (raised) throw nb::python_error(std::move(*raised));
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

PartEngine engine_of(const nb::callable& engine) {
  return [&engine](const PartWork& work, const PartReceiver& receiver, const std::stop_token& stop) {
    const nb::gil_scoped_acquire acquire;
    engine(nb::cast(PartWork(work)), nb::cast(Receiver(receiver, stop)));
  };
}

void bind_parts(nb::module_& module) {
  nb::class_<PartWork>(module, "PartWork", "Parts of a run that an engine measures.")
      .def_prop_ro(
          "manifest", [](const PartWork& work) { return work.manifest; }, "What a PartWorker is made of.")
      .def_prop_ro("parts", &parts_of, "Heads, each (layer, q_head, k_head), and the memory in bytes of each part.")
      .def_prop_ro("most_at_a_time", [](const PartWork& work) { return work.most_at_a_time; });
  nb::class_<Receiver>(module, "PartReceiver", "What an engine tells, while its call lasts.")
      .def("measured", &Receiver::measured, "part"_a, "bytes"_a, "Hands over what PartWorker.measure returned.")
      .def("failed", &Receiver::failed, "part"_a, "why"_a, "The heads of the part have failed.")
      .def("note", &Receiver::note, "line"_a)
      .def("warning", &Receiver::warning, "line"_a)
      .def("stopped", &Receiver::stopped, "Whether the engine should return without waiting for what is in flight.");
  nb::class_<PartWorker>(module, "PartWorker", "Measures parts of a run that was planned elsewhere.")
      .def(nb::init<std::string_view>(), "manifest"_a)
      .def("measure", &measure, "heads"_a, "Measures heads on one thread; the bytes are for the engine's receiver.");
}

}  // namespace attention_plasticity::python
