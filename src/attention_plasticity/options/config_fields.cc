#include "attention_plasticity/options/config_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/settings/yaml_settings.h"

namespace attention_plasticity {
namespace {

ValueKind<std::uint64_t> model_size() { return values::integer(1, 10'000); }

ValueKind<std::string> output_file() {
  return values::checked(values::text(), [](const std::string& file) {
    const std::filesystem::path name = std::filesystem::path(file).filename();
    if (name.empty() || name == "." || name == "..") {
      throw Error(ErrorKind::usage, fmt::format("{} names a folder, not a file", shown_text(file)));
    }
  });
}

// The inverse of moving an output below output_dir. A path that is not below it is absolute and stays.
std::string below_output_dir(const std::string& file, const std::optional<std::string>& output_dir) {
  if (!output_dir) return file;
  const std::string folder = (std::filesystem::path(*output_dir) / "").string();
  const bool below = file.starts_with(folder) && file.size() > folder.size() && file[folder.size()] != '/';
  return below ? file.substr(folder.size()) : file;
}

// The path of a table.
TypedField<RunConfig> output_field(const ResultTable& table) {
  std::string help(table.meaning);
  if (table.id == TableId::metrics) help += "; run.json and tables without a path of their own go beside it";
  if (!table.in_python_compat) help += "; not with compat python";
  const auto path = [id = table.id](auto& config) -> auto& { return config.tables[id]; };
  TypedField<RunConfig> field(std::string(table.field), output_file(), path, help + ".");
  field.get = [path](const RunConfig& config) {
    const std::string& file = path(config);
    return file.empty() ? std::nullopt : std::optional(below_output_dir(file, config.output_dir));
  };
  return field;
}

// A member of RunConfig::analysis.
template <class T>
auto analysis(T AnalysisOptions::* member) {
  return nested(&RunConfig::analysis, member);
}

using Config = RunConfig;
using Options = AnalysisOptions;

// The words of an enumeration are in the order of its values.

FieldTable<RunConfig> dump_fields() {
  return {
      {"model_dir", values::text_or_empty(), &Config::model_dir, "Folder of the heads below the dump's root.", "empty"},
      {"num_layers", model_size(), &Config::num_layers, "Layers of the model.", "discovered"},
      {"num_q_heads", model_size(), &Config::num_q_heads, "Query heads of a layer.", "discovered"},
      {"num_k_heads", model_size(), &Config::num_k_heads,
       "Key heads of a layer; their number must divide that of the query heads.", "discovered"},
      {"layers", values::indices(), &Config::layers, "Layers to analyse, such as 0-3,7.", "all"},
      {"q_heads", values::indices(), &Config::q_heads, "Query heads to analyse in each layer, such as 0-3,7.", "all"},
      {"dataset_name", values::text(), &Config::dataset_name, "Dataset on the Hugging Face Hub."},
      {"dataset_revision", values::text(), &Config::dataset_revision, "Branch, tag or commit of that dataset."},
      {"dataset_local_root", values::text(), &Config::dataset_local_root,
       "A dump on disk, or in an object store: s3://bucket/dump, gs://, abfs://, hdfs://.", "none"},
      {"dataset_cache_dir", values::text(), &Config::dataset_cache_dir, "Folder that keeps downloaded files.",
       "the Hub's own cache"},
      {"download_max_workers", values::count(), &Config::download_max_workers, "Files downloaded at a time."},
      {"verify_cache", values::boolean(), &Config::verify_cache,
       "Check cached files against the Hub's digests before they are used; a wrong one is fetched again."},
      {"non_finite", values::word({"error", "drop"}), &Config::non_finite,
       "What to do about a NaN or an infinity in a vector: fail the head, or drop the row."},
      {"max_vector_width", values::count(), &Config::max_vector_width,
       "Most components of a vector; a head with wider ones fails before it is decoded."},
  };
}

FieldTable<RunConfig> analysis_fields() {
  return {
      {"compat", values::word({"none", "python"}), &Config::compat,
       "Use the definitions and columns of the released Python toolkit."},
      {"method", values::word({"positional", "full", "diagonal"}), analysis(&Options::method),
       "How the queries of a bucket are modelled."},
      {"sampler", values::word({"bucket", "local"}), analysis(&Options::sampler), "How pairs of keys are drawn."},
      {"weighting", values::word({"queries", "pairs", "uniform"}), analysis(&Options::weighting),
       "Weight of a cell in its head's mean."},
      {"sliding_window_unit", values::word({"tokens", "buckets"}), analysis(&Options::sliding_window_unit),
       "Unit of the dump's sliding_window column."},
      {"max_tokens_per_head", values::limit(), analysis(&Options::max_tokens_per_head),
       "Rows kept of a head file that has more; null or 0: all rows."},
      {"normality_max_dims", values::count(0), analysis(&Options::normality_max_dims),
       "Components given a Kolmogorov-Smirnov test; 0: none."},
      {"p_alpha", values::share(false), analysis(&Options::p_alpha),
       "Significance level of that test, between 0 and 1."},
      {"num_pairs_per_bucket", values::count(), analysis(&Options::num_pairs_per_bucket),
       "Key pairs drawn for each pair of a query bucket and a key bucket."},
      {"max_relative_distance", values::share(true), analysis(&Options::max_relative_distance),
       "Reach of the local sampler as a share of the example's length, at most 1."},
      {"seed", values::seed_number(), analysis(&Options::seed), "Seed of every random draw."},
      {"standard_errors", values::boolean(), analysis(&Options::standard_errors),
       "Jackknife standard errors over examples."},
  };
}

FieldTable<RunConfig> rotation_fields() {
  return {
      {"rope", values::word({"auto", "none"}), &Config::rope,
       "Rotation of the model's vectors. auto: as in the next six fields or a config.json in the dump, else inferred "
       "from the vectors; none: no rotation."},
      {"rope_config", values::text(), &Config::rope_config, "The model's config.json.", "config.json in the dump"},
      {"rope_theta", values::positive_number(), &Config::rope_theta,
       "Base of the rotary frequencies; it takes precedence over any config.json.", "none"},
      {"rope_dim", values::count(2), &Config::rope_dim, "Number of components that are rotated; it must be even.",
       "all from rope_first on"},
      {"rope_layout", values::word({"half", "interleaved"}), &Config::rope_layout,
       "Which components are rotated together.", "half"},
      {"rope_first", values::count(0), &Config::rope_first, "Index of the first component that is rotated.", "0"},
      {"rope_scaling", values::json_object(), &Config::rope_scaling,
       "Scaling of the frequencies, as in a config.json; as a flag, JSON.", "none"},
      {"vectors", values::word({"post", "pre"}), analysis(&Options::vectors),
       "Whether vectors were captured after the rotation or before it."},
      {"rotation_check", values::word({"warn", "error", "off"}), &Config::rotation_check,
       "What to do when the vectors contradict the rotation."},
      {"num_triples", values::count(0), analysis(&Options::num_triples),
       "Triples drawn for position-exact plasticity; 0: it is not measured."},
      {"empirical_queries", values::count(0), analysis(&Options::empirical_queries),
       "Queries of its model-free check; 0: no check."},
  };
}

FieldTable<RunConfig> output_fields() {
  FieldTable<RunConfig> fields{
      {"output_dir", values::text(), &Config::output_dir, "Folder for the outputs that have relative paths.", "none"}};
  for (const ResultTable& table : result_tables()) fields.push_back(output_field(table));
  fields.emplace_back("overwrite", values::boolean(), &Config::overwrite,
                      "Replace results of another dump or model in the folder of the outputs.");
  return fields;
}

FieldTable<RunConfig> machine_fields() {
  return {
      {"max_workers", values::count(), &Config::max_workers,
       "Heads analysed at a time; null: one per core the process may use.", "null"},
      {"memory_limit", values::size_in_bytes(), &Config::memory_limit,
       "Bound on the memory of heads, keys and results, such as 800MiB; null: no bound.", "null"},
  };
}

}  // namespace

const FieldTable<RunConfig>& config_table() {
  // Files are compared by what they hold (outcomes/run_manifest.h), not by their names.
  static constexpr std::array names_of_files{"model_dir",          "dataset_name",      "dataset_revision",
                                             "dataset_local_root", "dataset_cache_dir", "download_max_workers",
                                             "rope_config",        "verify_cache"};
  static const FieldTable<RunConfig> table = [] {
    FieldTable<RunConfig> all;
    for (auto& [group, fields] :
         {std::pair("The dump", dump_fields()), std::pair("The analysis", analysis_fields()),
          std::pair("The rotation", rotation_fields()), std::pair("The outputs", output_fields()),
          std::pair("The machine", machine_fields())}) {
      for (TypedField<RunConfig> field : fields) {
        field.group = group;
        field.decides_figures = field.group != "The outputs" && field.group != "The machine" &&
                                std::ranges::find(names_of_files, field.name) == names_of_files.end();
        all.push_back(std::move(field));
      }
    }
    return all;
  }();
  return table;
}

const std::vector<Field>& config_fields() {
  static const std::vector<Field> fields = descriptions(config_table());
  return fields;
}

std::vector<FieldValue> resolved_fields(const RunConfig& config) { return field_values(config_table(), config); }

std::string config_text(const RunConfig& config) { return yaml_text(resolved_fields(config)); }

}  // namespace attention_plasticity
