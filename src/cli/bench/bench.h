// The kinds of benchmarks, one file each, and the table or JSON that they print.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/formats/members.h"
#include "cli/terminal/progress.h"
#include "heed/train.h"

namespace heed::cli {

struct BenchOptions {
  std::vector<std::string> cases;
  std::string kernel;
  std::string peers;  // the Python that runs peer libraries; empty: none
  std::string model;
  std::string config;
  bool byte_activations = false;
  std::string dtype;
  std::string tokenizer;
  std::vector<std::string> texts;
  std::int64_t tokens = 0;  // 0: the default
  bool json = false;
  struct Shape {  // 0: from the configuration
    std::int64_t layers = 0, heads = 0, width = 0, block = 0, batch = 0, vocabulary = 0;
  } shape = {};
};

/// An option of `heed bench train` that overrides one key of the training configuration.
struct TrainShapeKey {
  const char* name;
  std::int64_t BenchOptions::Shape::* value;
  std::int64_t TrainConfig::* member;
};
std::span<const TrainShapeKey> train_shape_keys();

/// If the middle half of the times spans more than this share of the median, the machine was busy
/// with other work.
constexpr double kBusySpread = 0.25;

/// Remembers the case with the largest spread of times.
class Steadiness {
 public:
  void saw(const std::string& name, double spread);
  /// One line that names that case; empty if every case was steady.
  std::string warning() const;
  /// Writes the warning to stderr.
  void report() const;

 private:
  std::string name_;
  double spread_ = 0;
};

/// The names of benchmark cases of any kind.
std::vector<std::string> names_of(const auto& cases) {
  std::vector<std::string> names;
  for (const auto& one : cases) names.emplace_back(one.name);
  return names;
}

/// Prints the rows of a benchmark as they arrive, as a table or a JSON array.
class BenchTable {
 public:
  /// `cases`: the names of all cases, in order. The heading is printed with the first row, so work
  /// that fails earlier prints no table.
  BenchTable(bool as_json, std::vector<std::string> cases, std::string heading);

  /// `spread` of the case's times, as in Steadiness.
  void add(const std::string& name, double spread, const std::string& row, const Json& json);
  /// `footer` is printed below the table.
  void finish(const std::string& footer);

 private:
  void name_next();

  bool as_json_;
  std::vector<std::string> left_;  // in reverse order: the next case is the last
  std::string before_;             // printed before the next row
  ProgressLine progress_;
  Steadiness steadiness_;
};

int bench_attention(const BenchOptions& options);
int bench_backward(const BenchOptions& options);
int bench_decode(const BenchOptions& options);
int bench_matmul(const BenchOptions& options);
int bench_model(const BenchOptions& options);
int bench_tokenize(const BenchOptions& options);
int bench_inspect(const BenchOptions& options);
int bench_arrays(const BenchOptions& options);
int bench_train(const BenchOptions& options);
int bench_ring(const BenchOptions& options);

}  // namespace heed::cli
