#include "attention_plasticity/run/rotation_evidence.h"

#include <algorithm>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <utility>

#include "attention_plasticity/base/memory_account.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/read_options.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t files_of_side = 4;
constexpr std::size_t most_layers_for_theta = 8;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Of each layer and side the first files, by head; queries before keys.
std::vector<RotationFile> first_files(std::vector<RotationFile> files) {
  const auto place = [](const RotationFile& file) {
    return std::tuple(file.head.layer, file.side == Side::key, file.head.head);
  };
  std::ranges::sort(files, {}, place);
  const auto is_same = [&](const RotationFile& a, const RotationFile& b) { return place(a) == place(b); };
  files.erase(std::unique(files.begin(), files.end(), is_same), files.end());
  std::map<std::pair<int, Side>, std::size_t> seen;
  std::erase_if(files, [&](const RotationFile& file) { return seen[{file.head.layer, file.side}]++ >= files_of_side; });
  return files;
}

// Marks the first file of each side in up to 8 layers. Where there are fewer layers and the rotation must be `found`,
// the next files take their place, so that theta is known as well from a small dump.
std::vector<bool> files_for_theta(const std::vector<RotationFile>& files, bool found) {
  std::vector<int> layers;
  for (const RotationFile& file : files) {
    if (layers.empty() || layers.back() != file.head.layer) layers.push_back(file.head.layer);
  }
  std::set<int> chosen;
  const std::size_t count = std::min(layers.size(), most_layers_for_theta);
  for (std::size_t i = 0; i < count; ++i) chosen.insert(layers[i * layers.size() / count]);
  std::map<std::pair<int, Side>, std::size_t> seen;
  const std::size_t of_side = found ? most_layers_for_theta / std::max<std::size_t>(count, 1) : 1;
  std::vector<bool> marks;
  marks.reserve(files.size());
  for (const RotationFile& file : files) {
    marks.push_back(chosen.contains(file.head.layer) && seen[{file.head.layer, file.side}]++ < of_side);
  }
  return marks;
}

double fixed_under_rotation(const RowSample& sample, const std::optional<Rotation>& rotation) {
  if (!rotation || rotation->first + rotation->dim() > sample.width()) return nan;
  return fixed_under(sample, *rotation);
}

std::optional<Rotation> rotation_or_none(const RotationOfLayer& rotation, int layer, std::size_t width) {
  if (!rotation) return std::nullopt;
  try {
    return rotation(layer, width);
  } catch (const Error&) {
    return std::nullopt;  // reported when the head is analysed
  }
}

// Calls `use` with the rows of a file. Nothing happens when it cannot be read, or not within the memory of the run:
// that is reported when the head is read.
template <class Use>
void with_rows(const RotationFile& file, const RunConfig& config, const Use& use) {
  try {
    MemoryAccount account(config.memory_limit.value_or(std::numeric_limits<std::uint64_t>::max()));
    const MemoryAccount::Scope counted(config.memory_limit ? &account : nullptr);
    if (file.rows) return file.rows(use);
    const DumpFiles& files = file.store ? *file.store : disk_files();
    // What was fetched is counted in the account.
    const std::shared_ptr<void> released(nullptr, [&](void*) { files.release(file.path); });
    const HeadFile content = read_head_file(files.open(file.path), file.side, read_options(config));
    use(content.rows);
  } catch (const Error&) {
    return;
  } catch (const std::bad_alloc&) {
    return;
  }
}

// Of a file that was readable before; none: it is not any more.
std::optional<RowSample> read_sample(const RotationFile& file, const RunConfig& config) {
  std::optional<RowSample> sample;
  with_rows(file, config, [&](const RowsView& rows) {
    const MemoryAccount::Scope not_counted(nullptr);
    sample.emplace(rows);
  });
  return sample;
}

// Sums over files, then shares.
struct Sums {
  double energy = 0;
  EnergyShares fixed;

  template <typename Measured>
  void add(const Measured& file) {
    energy += file.energy;
    fixed.configured += file.configured;
    fixed.described += file.described;
    const auto add_all = [](std::vector<double>& sum, const std::vector<double>& values) {
      sum.resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
    };
    add_all(fixed.known, file.known);
    add_all(fixed.further, file.further);
  }

  EnergyShares shares() const {
    // Vectors that are all zero say nothing.
    const double all = energy > 0 ? energy : nan;
    EnergyShares shares = fixed;
    shares.configured /= all;
    shares.described /= all;
    for (double& share : shares.known) share /= all;
    for (double& share : shares.further) share /= all;
    return shares;
  }
};

}  // namespace

RotationEvidence::RotationEvidence(std::vector<RotationFile> files, RotationOfLayer configured,
                                   RotationOfLayer described)
    : files_(first_files(std::move(files))),
      keeps_sample_(files_for_theta(files_, !configured)),
      configured_(std::move(configured)),
      described_(std::move(described)),
      measured_(files_.size()) {}

std::optional<std::size_t> RotationEvidence::find(Side side, const HeadKey& head) const {
  const auto found =
      std::ranges::find_if(files_, [&](const RotationFile& file) { return file.side == side && file.head == head; });
  if (found == files_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - files_.begin());
}

std::optional<FileEvidence> RotationEvidence::add(Side side, const HeadKey& head, const RowsView& rows) {
  const std::optional<std::size_t> index = find(side, head);
  if (!index || rows.size() < 2) return std::nullopt;
  // What is kept outlives the account of the head. Two copies of the sample are there at once.
  const MemoryCharge memory(2 * sizeof(double) * rows.width * std::min(rows.size(), RowSample::most_rows));
  const MemoryAccount::Scope not_counted(nullptr);
  RowSample sample(rows);
  Measured measured;
  measured.width = rows.width;
  measured.energy = sample.energy();
  measured.known = tables_.fixed(sample);
  measured.configured = fixed_under_rotation(sample, rotation_or_none(configured_, head.layer, rows.width));
  measured.described = fixed_under_rotation(sample, rotation_or_none(described_, head.layer, rows.width));
  if (keeps_sample_[*index]) measured.sample = std::move(sample);
  FileEvidence evidence = measured;
  const std::scoped_lock lock(mutex_);
  measured_[*index] = std::move(measured);
  return evidence;
}

void RotationEvidence::restore(Side side, const HeadKey& head, FileEvidence evidence) {
  const std::optional<std::size_t> index = find(side, head);
  if (!index) return;
  const std::scoped_lock lock(mutex_);
  std::optional<Measured>& measured = measured_[*index];
  if (!measured) measured = Measured{std::move(evidence), {}, {}};
}

void RotationEvidence::read_all(const RunConfig& config) {
  for (const RotationFile& file : files_) {
    with_rows(file, config, [&](const RowsView& rows) { add(file.side, file.head, rows); });
  }
}

bool RotationEvidence::empty() const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::none_of(measured_, [](const auto& measured) { return measured.has_value(); });
}

RotationShares RotationEvidence::shares() const {
  const std::scoped_lock lock(mutex_);
  RotationShares all;
  Sums dump;
  std::map<int, Sums> layers;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const std::optional<Measured>& measured = measured_[i];
    if (!measured) continue;
    if (all.width == 0) all.width = measured->width;
    layers[files_[i].head.layer].add(*measured);
    dump.add(*measured);
  }
  all.dump = dump.shares();
  all.layers.reserve(layers.size());
  for (const auto& [layer, sums] : layers) all.layers.push_back({layer, sums.shares()});
  return all;
}

std::vector<const RowSample*> RotationEvidence::samples(const RunConfig& config) {
  const std::scoped_lock lock(mutex_);
  std::vector<const RowSample*> samples;
  samples.reserve(measured_.size());
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::optional<Measured>& measured = measured_[i];
    if (!measured || !keeps_sample_[i]) continue;
    if (!measured->sample) measured->sample = read_sample(files_[i], config);
    if (measured->sample) samples.push_back(&*measured->sample);
  }
  return samples;
}

void RotationEvidence::measure(std::span<const RotationOfLayer> ways, const RunConfig& config) {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::optional<Measured>& measured = measured_[i];
    if (!measured) continue;
    const RotationFile& file = files_[i];
    const auto measure_sample = [&, layer = file.head.layer](const RowSample& sample) {
      measured->further.clear();
      for (const RotationOfLayer& way : ways) {
        measured->further.push_back(fixed_under_rotation(sample, rotation_or_none(way, layer, sample.width())));
      }
    };
    if (measured->sample) {
      measure_sample(*measured->sample);
      continue;
    }
    if (const std::optional<RowSample> sample = read_sample(file, config)) {
      measure_sample(*sample);
    } else {
      measured->further.assign(ways.size(), nan);
    }
  }
}

}  // namespace attention_plasticity
