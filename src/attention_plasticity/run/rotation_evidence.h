#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/rotary/rotation_way.h"
#include "attention_plasticity/rows.h"
#include "attention_plasticity/run/config.h"

namespace attention_plasticity {

/// Calls a function with rows that are in memory. Throws Error(input) for rows that cannot be used.
using GivenRows = std::function<void(const std::function<void(const RowsView&)>&)>;

/// A file by which a dump's rotation is judged.
struct RotationFile {
  Side side = Side::query;
  HeadKey head;
  std::filesystem::path path = {};
  GivenRows rows = {};                          ///< in place of a file; empty: they are read from `path`
  std::shared_ptr<const DumpFiles> store = {};  ///< where `path` is opened; null: on disk
};

/// Which share of the vectors' energy is fixed, that is, belongs to a mean that does not depend on position, when they
/// are un-rotated in some ways; of one layer or of all. NaN: unknown.
struct EnergyShares {
  std::vector<double> known;  ///< under known_ways(); NaN for a way that a file's width does not allow
  double configured = 0;      ///< as the run un-rotates them
  /// For `vectors: pre`, where `configured` is R = I: under the rotation that the model is said to have.
  double described = 0;
  std::vector<double> further;  ///< under the ways of RotationEvidence::measure
};

struct LayerShares {
  int layer = 0;
  EnergyShares shares;
};

/// What the vectors of a dump say about their rotation.
struct RotationShares {
  std::size_t width = 0;  ///< of the vectors of the first file
  EnergyShares dump;
  std::vector<LayerShares> layers;  ///< ascending
};

/// What the vectors of one file say about their rotation.
struct FileEvidence {
  std::size_t width = 0;      ///< of its vectors
  double energy = 0;          ///< the mean of |v|^2
  std::vector<double> known;  ///< the fixed part of the energy under known_ways(), as in EnergyShares
  double configured = 0;      ///< likewise
  double described = 0;       ///< likewise
};

/// A rotation for vectors of a given layer and width; none: unknown.
using RotationOfLayer = std::function<std::optional<Rotation>(int layer, std::size_t width)>;

/// Collects from files what their vectors say about the rotation of the dump: of each layer the first 4 query heads and
/// the first 4 key heads. `add` may be called by several threads; results do not depend on the order of the calls.
class RotationEvidence {
 public:
  /// `files`: those of the heads that are read, and which of them count is decided here. `configured` and `described`
  /// are those of EnergyShares; a function that is empty gives NaN.
  RotationEvidence(std::vector<RotationFile> files, RotationOfLayer configured, RotationOfLayer described);

  /// Notes what a file says, and returns it, if the file is one of those that count, and has two rows.
  std::optional<FileEvidence> add(Side side, const HeadKey& head, const RowsView& rows);
  /// Notes what `add` returned for a file in an earlier run.
  void restore(Side side, const HeadKey& head, FileEvidence evidence);
  /// Reads all files and adds them. Those that cannot be read are skipped.
  void read_all(const RunConfig& config);

  /// No file was added.
  bool empty() const;
  RotationShares shares() const;
  /// Samples of the first query and key head of up to 8 layers, spread evenly, from which theta is refined; of further
  /// heads where there are fewer layers and no rotation is configured. Files that were restored are read again.
  std::vector<const RowSample*> samples(const RunConfig& config);

  /// Reads the files again to measure the shares under further ways.
  void measure(std::span<const RotationOfLayer> ways, const RunConfig& config);

 private:
  struct Measured : FileEvidence {
    std::vector<double> further;
    std::optional<RowSample> sample;
  };

  // The place of a file among those that count.
  std::optional<std::size_t> find(Side side, const HeadKey& head) const;

  std::vector<RotationFile> files_;
  std::vector<bool> keeps_sample_;
  RotationOfLayer configured_;
  RotationOfLayer described_;
  KnownWayTables tables_;
  mutable std::mutex mutex_;  // of measured_
  std::vector<std::optional<Measured>> measured_;
};

}  // namespace attention_plasticity
