// The rows of a benchmark as they come: a table, or a JSON array at the end.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/bench/bench.h"
#include "cli/terminal/progress.h"

namespace heed::cli {

class BenchTable {
 public:
  BenchTable(bool as_json, std::int64_t cases, const std::string& heading);

  /// `spread` of the times of the case `name`, as Steadiness has it.
  void add(const std::string& name, double spread, const std::string& row,
           nlohmann::ordered_json json);
  /// `footer` closes the table.
  void finish(const std::string& footer);

 private:
  bool as_json_;
  nlohmann::ordered_json list_ = nlohmann::ordered_json::array();
  ProgressLine progress_;
  Steadiness steadiness_;
};

}  // namespace heed::cli
