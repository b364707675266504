#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/results/summary.h"
#include "attention_plasticity/version.h"

// run.json, written and read. Schema 2 names every table of its run with its SHA-256, by which readers find out whether
// the tables beside it are of its run; schema 1 names the files only. docs/formats.md describes it.

namespace attention_plasticity {

/// The schema of the run.json that this program writes. It reads this one and those before it.
inline constexpr int run_json_schema = 2;

/// Everything that run.json states, but for the files that are written with it.
struct RunJson {
  struct InputFile {
    std::string name;  ///< below `folder`, with slashes
    std::uint64_t bytes = 0;
    std::optional<std::int64_t> modified_ns = {};  ///< since 1970, in UTC; not written of a dump on the Hub
    std::optional<std::string> etag = {};          ///< written as null only of a dump on the Hub
    std::string xxh128 = {};                       ///< of the bytes that were read; empty: unknown
  };
  struct Input {
    std::string kind;  ///< local, store, hub or arrays
    std::optional<std::string> root = {};
    std::optional<std::string> repo = {};  ///< written in place of `root` if it is set
    std::string folder = {};
    std::optional<std::string> revision = {};
    std::optional<std::string> commit = {};
    std::vector<InputFile> files = {};
  };
  struct Rope {
    std::string_view kind;
    std::optional<double> theta = {};
    std::size_t first = 0;
    std::size_t dim = 0;
    std::optional<std::string_view> layout = {};
  };
  struct Layer {
    int layer = 0;
    std::optional<double> window = {};
    std::optional<Rope> rope = {};  ///< none: unknown
  };
  struct Model {
    std::string name;
    int num_layers = 0;
    int num_q_heads = 0;
    int num_k_heads = 0;
    std::optional<std::size_t> head_dim = {};
    std::vector<Layer> layers = {};  ///< layers of which a head was analysed
  };
  struct Field {
    std::string name;
    std::string text;      ///< a text, or JSON
    bool is_text = false;  ///< true: written between quotes
  };
  /// Jackknife groups of the model, by which runs over the same documents are recognised and compared pair by pair.
  struct Groups {
    std::size_t count = 0;
    std::size_t examples = 0;
    std::string sha256;
  };

  ProgramVersion program = {};
  Input input = {};
  Model model = {};
  std::string rotation = "null";  ///< a JSON value
  std::optional<std::string> sampling_strategy = {};
  std::optional<double> sampling_bucket_size = {};
  std::vector<Field> config = {};
  std::size_t heads_done = 0;
  std::size_t heads_skipped = 0;
  std::vector<HeadFailure> failures = {};
  std::vector<ModelSummary> summary = {};
  std::optional<Groups> groups = {};
  RunResources resources = {};
};

/// A file that a run writes.
struct WrittenFile {
  std::string path;
  std::optional<std::string> sha256 = {};  ///< of its bytes; none for run.json itself
};

/// Returns the text of run.json.
std::string run_json_text(const RunJson& run, std::span<const WrittenFile> files);

/// The input of a run, as run.json names it: a dump on disk, or a dataset of the Hub.
struct RunInput {
  std::optional<std::string> root;  ///< of a dump on disk, as configured
  std::optional<std::string> repo;
  std::optional<std::string> revision;
  std::optional<std::string> folder;  ///< the folder of the heads
};

/// A table of a run.
struct RecordedTable {
  std::string name;                   ///< of its file, without the folder
  std::optional<std::string> sha256;  ///< of its bytes, 64 hexadecimal digits; none in schema 1
};

/// The part of run.json by which the files of the run are found and checked.
struct RunRecord {
  int schema = run_json_schema;
  RunInput input;
  std::optional<std::string> model;          ///< the model's name
  std::vector<RecordedTable> tables;         ///< in schema 1 all files, run.json included
  std::map<std::string, std::string> names;  ///< the name of a table's file, by the field of its path
  std::optional<std::size_t> heads_done;
  std::map<std::string, double> means;  ///< mean over heads of each measure in the summary; NaN: no head has a value

  /// The table whose file has this name. Null when the run wrote none.
  const RecordedTable* find(std::string_view name) const;
};

/// Parses run.json. Throws Error(input) for text that is not the run.json of a run, and for a schema that this program
/// does not know.
RunRecord parse_run_record(std::string_view text, const std::string& file);

/// Computes the SHA-256 of a file's bytes. Throws Error(input) when it cannot be read.
std::string file_sha256(const std::filesystem::path& file);

/// The division of positions into buckets when the dump was captured.
struct BucketSampling {
  bool logarithmic = false;           ///< true: each bucket is twice as large as the one before
  std::optional<double> bucket_size;  ///< tokens, > 0; size of the smallest bucket when logarithmic
};

/// The part of run.json that describes the model and the sampling.
struct RunDescription {
  std::optional<std::string> model;
  int num_layers = 0;
  int num_q_heads = 0;
  int num_k_heads = 0;
  std::map<int, std::int64_t> windows;  ///< sliding window in tokens, by layer known to have one
  std::optional<BucketSampling> sampling = {};
};

/// Parses run.json. Throws Error(input), naming the key, for text that is not the run.json of a run.
RunDescription parse_run_description(std::string_view text, const std::string& file);

}  // namespace attention_plasticity
