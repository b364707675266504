// attention_plasticity._runs: whole runs, from dumps and arrays, and what is done with their files.

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "array_selection.h"
#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/results/result_files.h"
#include "attention_plasticity/results/summary.h"
#include "attention_plasticity/run/analyze_dump_by.h"
#include "attention_plasticity/run/array_run.h"
#include "attention_plasticity/run/merged_run.h"
#include "attention_plasticity/run/results.h"
#include "attention_plasticity/settings/yaml_settings.h"
#include "attention_plasticity/store/store.h"
#include "comparisons.h"
#include "cost.h"
#include "engines.h"
#include "figures.h"
#include "head_arrays.h"
#include "options.h"
#include "studies.h"
#include "table_arrays.h"
#include "watched_call.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attention_plasticity::python {
namespace {

// Something to tell the caller, as arguments of its function.
using Event = std::function<void(const nb::callable&)>;

// Hands all that a run tells to the calling thread, as calls of tell(kind, ...).
RunObserver observer_of(WatchedCall<Event>& call) {
  const auto text_event = [&call](const char* kind) {
    return [&call, kind](const std::string& line) {
      call.tell([kind, line](const nb::callable& tell) { tell(kind, line); });
    };
  };
  RunObserver observer;
  observer.head_ended = [&call](const HeadEvent& event) {
    call.tell([head = event.head, ended = event.ended, total = event.total](const nb::callable& tell) {
      tell("head", head.layer, head.q_head, ended, total);
    });
  };
  observer.note = text_event("note");
  observer.warning = text_event("warning");
  observer.downloading = [&call](const DownloadProgress& now) {
    call.tell([now](const nb::callable& tell) {
      tell("download", now.files, now.all_files, now.bytes, now.all_bytes, now.bytes_before);
    });
  };
  return observer;
}

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

DumpSource source_of(const RunConfig& config, const std::optional<std::string>& ca_file) {
  if (config.dataset_address) return DumpFolder{*config.dataset_address, config.model_dir};
  if (config.dataset_local_root) return DumpFolder{*config.dataset_local_root, config.model_dir};
  HubDataset dataset{config.dataset_name, config.dataset_revision, config.model_dir, hub_settings(environment_variable),
                     config.download_max_workers};
  dataset.verify_cache = config.verify_cache;
  if (config.dataset_cache_dir) dataset.settings.cache = *config.dataset_cache_dir;
  if (dataset.settings.ca_file.empty() && ca_file) dataset.settings.ca_file = *ca_file;
  return dataset;
}

// A finished run, of a dump or of arrays.
class Run {
 public:
  Run(AnalyzedDump analyzed, RunResources resources)
      : analyzed_(std::move(analyzed)), resources_(std::move(resources)) {}

  std::string model_name() const { return analyzed_.model_name(); }
  std::size_t size() const { return analyzed_.heads().size(); }
  bool interrupted() const { return analyzed_.interrupted(); }
  std::vector<std::tuple<int, int, int, std::string, std::string>> failures() const {
    std::vector<std::tuple<int, int, int, std::string, std::string>> list;
    for (const HeadFailure& failure : analyzed_.failures()) {
      list.emplace_back(failure.head.layer, failure.head.q_head, failure.head.k_head, failure.file, failure.message);
    }
    return list;
  }
  // How many heads have no plasticity, and why.
  std::pair<std::size_t, std::string> without_plasticity() const {
    const WithoutPlasticity without = heads_without_plasticity(analyzed_.heads());
    return {without.heads, without.reason};
  }
  // Heads with a value, mean over them, and its error.
  std::tuple<std::size_t, double, double> model_mean(const std::string& column) const {
    const ModelMean model = analyzed_.model_mean(column);
    return {model.heads, model.mean, model.error};
  }
  nb::dict table(const std::string& name) const {
    const TableId id = table_id(name);
    Table values = [&] {
      const nb::gil_scoped_release release;
      return analyzed_.table(id);
    }();
    return columns_of(std::move(values));
  }
  std::vector<std::filesystem::path> save(const std::filesystem::path& folder, bool overwrite) const {
    const nb::gil_scoped_release release;
    return analyzed_.save(folder, {overwrite, resources_});
  }

 private:
  AnalyzedDump analyzed_;
  RunResources resources_;
};

// The exception that ended a run early, or None.
nb::object raised_object(const std::optional<nb::python_error>& raised) {
  return raised ? nb::borrow(raised->value()) : nb::none();
}

nb::tuple run_dump(const std::optional<std::string>& config_file, const NamedTexts& options,
                   const std::optional<std::string>& ca_file, const std::optional<std::filesystem::path>& saved_heads,
                   const std::optional<nb::callable>& engine, const nb::callable& tell) {
  std::vector<Setting> settings;
  if (config_file) settings = read_yaml_settings(*config_file, config_fields());
  for (Setting& setting : settings_of(options)) settings.push_back(std::move(setting));
  RunConfig config = resolve_config(settings);
  config.saved_heads = saved_heads;
  const DumpSource source = source_of(config, ca_file);
  const Cost cost(config.max_workers.value_or(usable_cores()));
  WatchedCall<Event> call;
  std::optional<AnalyzedDump> dump;
  EngineCost elsewhere;
  const Engine by = engine ? engine_of(*engine) : Engine();
  const auto raised = call.run(
      [&](const std::stop_token& stop) {
        dump = analyze_dump_by(by, source, config, observer_of(call), stop, elsewhere);
      },
      [&](const Event& event) { event(tell); });
  RunResources resources = cost.until_now();
  resources.cpu_s += elsewhere.cpu_s;
  resources.peak_rss_bytes = std::max(resources.peak_rss_bytes, elsewhere.peak_rss_bytes);
  return nb::make_tuple(nb::cast(Run(std::move(*dump), resources)), raised_object(raised));
}

using HeadTuple = std::tuple<int, int, int, const HeadArrays*, const HeadArrays*>;

nb::tuple run_arrays(const std::vector<HeadTuple>& heads, const NamedTexts& options, const nb::callable& tell) {
  std::vector<ArrayHead> arrays;
  arrays.reserve(heads.size());
  for (const auto& [layer, q_head, k_head, queries, keys] : heads) {
    arrays.push_back({{layer, q_head, k_head}, queries->view(), keys->view()});
  }
  const RunConfig config = resolve_config(settings_of(options));
  const Cost cost(config.max_workers.value_or(usable_cores()));
  WatchedCall<Event> call;
  std::optional<FinishedRun> run;
  const auto raised = call.run(
      [&](const std::stop_token& stop) {
        std::optional<ModelRotation> rotation;
        if (config.analysis.num_triples > 0) rotation = rotation_of(config);
        run = analyze_arrays(arrays, config, std::move(rotation), observer_of(call), stop);
      },
      [&](const Event& event) { event(tell); });
  return nb::make_tuple(nb::cast(Run(analyzed(std::move(*run)), cost.until_now())), raised_object(raised));
}

// Merges shards and writes the results of the run. Returns the exception that ended it early, or None; then nothing is
// written.
nb::object merge(const std::vector<std::filesystem::path>& shards, const std::filesystem::path& output, bool overwrite,
                 const nb::callable& tell) {
  const Cost cost(1);
  WatchedCall<Event> call;
  const auto raised = call.run(
      [&](const std::stop_token& stop) {
        RunResources resources;
        const FinishedRun run = merge_shards(shards, output.string(), overwrite, observer_of(call), resources);
        if (stop.stop_requested()) return;
        const RunResources own = cost.until_now();
        resources.workers = own.workers;
        resources.wall_s = own.wall_s;
        resources.cpu_s += own.cpu_s;
        resources.peak_rss_bytes = std::max(resources.peak_rss_bytes, own.peak_rss_bytes);
        const std::vector<FolderLock> locks = lock_outputs(run.prepared, run.config);
        check_outputs(run.prepared, run.config);
        const std::vector<std::string> files = write_results(run.prepared, run.config, run.result, resources);
        if (run.result.results.empty()) {
          throw Error(ErrorKind::input, "every head failed; this file lists the reasons", files.back());
        }
      },
      [&](const Event& event) { event(tell); });
  return raised_object(raised);
}

}  // namespace
}  // namespace attention_plasticity::python

NB_MODULE(_runs, module) {
  using namespace attention_plasticity;
  using namespace attention_plasticity::python;
  module.doc() = "Whole runs over dumps and arrays, and what is done with their files.";
  nb::module_::import_("attention_plasticity._core");
  nb::class_<Run>(module, "Run", "A finished run.")
      .def_prop_ro("model_name", &Run::model_name)
      .def_prop_ro("interrupted", &Run::interrupted)
      .def_prop_ro("failures", &Run::failures, "Layer, q_head, k_head, file and message of each head that failed.")
      .def("__len__", &Run::size)
      .def("without_plasticity", &Run::without_plasticity, "How many heads have no plasticity, and why.")
      .def("model_mean", &Run::model_mean, "column"_a, "Heads with a value, their mean, and its standard error.")
      .def("table", &Run::table, "name"_a, "The columns of a table as arrays by name.")
      .def("save", &Run::save, "folder"_a, "overwrite"_a, "Writes the tables and run.json; returns their paths.");
  module.def("run_dump", &run_dump, "config_file"_a.none(), "options"_a, "ca_file"_a.none(), "saved_heads"_a.none(),
             "engine"_a.none(), "tell"_a,
             "Measures a dump. Returns the run, and the exception that ended it early or None.");
  module.def("selected_heads", &selected_heads, "heads"_a, "options"_a,
             "The heads in memory that are measured: their places, and their key heads.");
  module.def("run_arrays", &run_arrays, "heads"_a, "options"_a, "tell"_a, "The same for heads in memory.");
  module.def("merge_shards", &merge, "shards"_a, "output"_a, "overwrite"_a, "tell"_a,
             "Writes the results of a run from its shards. Returns the exception that ended it early or None.");
  module.def("end_stores", &end_stores, "Ends the clients of object stores, which may crash at the end of a process.");
  nb::module_::import_("atexit").attr("register")(module.attr("end_stores"));
  bind_engines(module);
  bind_studies(module);
  bind_comparisons(module);
  bind_figures(module);
}
