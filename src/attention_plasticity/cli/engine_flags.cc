#include "attention_plasticity/cli/engine_flags.h"

#include "attention_plasticity/cli/python.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {

const FieldTable<EngineFlags>& engine_table() {
  static const FieldTable<EngineFlags> table{
      {"engine", values::word({"local", "ray"}), &EngineFlags::engine,
       "Who measures the heads: this program, or the nodes of a Ray cluster, which must all see the dump (Python "
       "package)."},
      {"address", values::any_text("HOST:PORT"), &EngineFlags::address, "The Ray cluster.",
       "that of RAY_ADDRESS or of this machine, else a new one"},
  };
  return table;
}

std::unique_ptr<EngineProcess> started_engine(const EngineFlags& flags, const std::stop_token& stop) {
  if (flags.engine == 0) {
    if (flags.address) throw Error(ErrorKind::usage, "--address is that of a Ray cluster; pass --engine ray too");
    return nullptr;
  }
  std::vector<std::string> words{python_of_package("--engine ray takes", "ray"), "-m", "attention_plasticity._ray"};
  if (flags.address) words.push_back(*flags.address);
  return std::make_unique<EngineProcess>(std::move(words), stop);
}

Engine function_of(EngineProcess& engine) {
  return [&engine](const EngineWork& work, const EngineReceiver& receiver, const std::stop_token& stop) {
    engine.measure(work, receiver, stop);
  };
}

}  // namespace attention_plasticity
