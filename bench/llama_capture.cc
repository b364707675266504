// llama_capture MODEL.gguf [TOKENS] [ROWS.bin]: what capturing costs while libllama reads random tokens.
//
// Passes over the same tokens take turns: whole ones without a callback, as libllama alone makes them; passes that end
// where a capture ends; and captures, of 8 rows in every 128 of all heads. The captured rows go to a file, so that
// those of two devices can be compared.

#include <fmt/format.h>
#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "attention_plasticity/capture/llama/attention_tap.h"
#include "attention_plasticity/capture/llama/llama_context.h"
#include "attention_plasticity/capture/llama/llama_model.h"
#include "attention_plasticity/capture/llama/model_probe.h"
#include "attention_plasticity/error.h"

namespace ap = attention_plasticity;

namespace {

constexpr int rounds = 5;
constexpr int every = 128;
constexpr int rows_of_every = 8;

// Seconds of the clock and of the processor. On a busy machine only the latter tell.
struct Cost {
  double wall = 0;
  double cpu = 0;
};

Cost cost_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC};
}

Cost median(const std::vector<Cost>& costs) {
  const auto middle = [&](double Cost::* member) {
    std::vector<double> values;
    for (const Cost& cost : costs) values.push_back(cost.*member);
    std::ranges::sort(values);
    return values[values.size() / 2];
  };
  return {middle(&Cost::wall), middle(&Cost::cpu)};
}

std::string more(Cost cost, Cost than) {
  return fmt::format("{:+.2f} % of the clock, {:+.2f} % of the processor", 100 * (cost.wall / than.wall - 1),
                     100 * (cost.cpu / than.cpu - 1));
}

std::vector<int> numbers(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::map<int, ap::WantedRows> wanted_rows(const std::vector<ap::AttentionLayer>& layers, int tokens) {
  std::vector<int> rows;
  for (int token = 0; token < tokens; ++token) {
    if (token * 37 % every < rows_of_every) rows.push_back(token);
  }
  std::map<int, ap::WantedRows> wanted;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    if (layers[layer].q_heads == 0) continue;
    wanted[static_cast<int>(layer)] = {numbers(layers[layer].q_heads), numbers(layers[layer].k_heads), rows, rows};
  }
  return wanted;
}

// libllama by itself.
struct Plain {
  Plain(const ap::LlamaModel& model, int tokens, int threads) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = static_cast<std::uint32_t>(tokens);
    params.n_batch = params.n_ubatch = ap::LlamaContext::batch_tokens;
    params.n_threads = params.n_threads_batch = threads;
    params.swa_full = true;
    context = llama_init_from_model(model.get(), params);
    if (context == nullptr) throw ap::Error(ap::ErrorKind::input, "no context");
  }
  ~Plain() { llama_free(context); }
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;

  void read(const std::vector<std::int32_t>& ids) const {
    llama_memory_clear(llama_get_memory(context), false);
    llama_batch batch = llama_batch_init(ap::LlamaContext::batch_tokens, 0, 1);
    for (std::size_t first = 0; first < ids.size(); first += ap::LlamaContext::batch_tokens) {
      const std::size_t count = std::min<std::size_t>(ap::LlamaContext::batch_tokens, ids.size() - first);
      batch.n_tokens = static_cast<std::int32_t>(count);
      for (std::size_t i = 0; i < count; ++i) {
        batch.token[i] = ids[first + i];
        batch.pos[i] = static_cast<std::int32_t>(first + i);
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = 0;
      }
      if (llama_decode(context, batch) != 0) throw ap::Error(ap::ErrorKind::input, "llama_decode failed");
    }
    llama_synchronize(context);
    llama_batch_free(batch);
  }

  llama_context* context = nullptr;
};

void measure(const std::string& file, int tokens, const std::string& rows_file) {
  const ap::LlamaModel model(file, std::nullopt);
  const char* const given = std::getenv("THREADS");
  const int threads = given == nullptr ? 1 : std::atoi(given);
  ap::LlamaContext context(model, {.tokens = std::max(tokens, ap::tokens_to_probe(model, tokens)), .threads = threads});
  const std::vector<ap::AttentionLayer> layers = ap::probed_layers(model, context, tokens);
  const std::map<int, ap::WantedRows> wanted = wanted_rows(layers, tokens);
  const std::vector<std::int64_t> ordinary = model.ordinary_ids();
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<std::int32_t>(ordinary[i * 7919 * (1 + i / 97) % ordinary.size()]);
  }
  const std::vector<std::span<const std::int32_t>> text{ids};
  std::size_t bytes = 0;
  std::ofstream rows_out(rows_file, std::ios::binary);
  bool keep = !rows_file.empty();
  const auto deliver = [&](int, const ap::TakenRows& rows) {
    bytes += (rows.queries.size() + rows.keys.size()) * sizeof(float);
    if (!keep) return;
    for (const std::vector<float>* vectors : {&rows.queries, &rows.keys}) {
      rows_out.write(reinterpret_cast<const char*>(vectors->data()),
                     static_cast<std::streamsize>(vectors->size() * sizeof(float)));
    }
  };
  ap::RowReader reader;
  ap::AttentionTap tap(layers, reader, deliver);
  const ap::GraphWatcher capture{[&](int first, int count, bool is_last) { tap.batch(first, count, is_last); },
                                 [&](ggml_tensor* node, bool ask) { return tap.see(node, ask); }};
  const auto captured = [&] {
    bytes = 0;
    tap.begin(wanted);
    context.read(text, capture);
    tap.check();
  };
  // Only the last attention is looked at, and nothing is taken.
  std::map<int, ap::WantedRows> last{{wanted.rbegin()->first, {{0}, {0}, {}, {}}}};
  ap::AttentionTap ending(layers, reader, [](int, const ap::TakenRows&) {});
  const ap::GraphWatcher end{[&](int first, int count, bool is_last) { ending.batch(first, count, is_last); },
                             [&](ggml_tensor* node, bool ask) { return ending.see(node, ask); }};
  const auto ended = [&] {
    ending.begin(last);
    context.read(text, end);
  };
  const Plain plain(model, tokens, threads);
  captured();
  keep = false;
  plain.read(ids);
  std::vector<Cost> whole_costs;
  std::vector<Cost> ended_costs;
  std::vector<Cost> captured_costs;
  for (int round = 0; round < rounds; ++round) {
    whole_costs.push_back(cost_of([&] { plain.read(ids); }));
    ended_costs.push_back(cost_of(ended));
    captured_costs.push_back(cost_of(captured));
  }
  const auto show = [&](const std::string& what, Cost cost) {
    fmt::print("{}: {:.4f} s, {:.4f} CPU s, {:.0f} tokens/s\n", what, cost.wall, cost.cpu, tokens / cost.wall);
  };
  fmt::print("{}: {} tokens, {} layers, {:.3f} GB of rows\n", model.name(), tokens, wanted.size(),
             static_cast<double>(bytes) / 1e9);
  show("libllama alone, a whole pass", median(whole_costs));
  show("to the last attention", median(ended_costs));
  show("captured", median(captured_costs));
  fmt::print("a capture takes {} more than the pass to the last attention\n",
             more(median(captured_costs), median(ended_costs)));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw ap::Error(ap::ErrorKind::usage, "llama_capture MODEL.gguf [TOKENS] [ROWS.bin]");
    measure(argv[1], argc > 2 ? std::atoi(argv[2]) : 2048, argc > 3 ? argv[3] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "llama_capture: {}\n", error.what());
    return 1;
  }
  return 0;
}
