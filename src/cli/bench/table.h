// The rows of a benchmark as they come: a table, or a JSON array at the end.
#pragma once

#include <string>
#include <vector>

#include "base/formats/json.h"
#include "cli/bench/bench.h"
#include "cli/terminal/progress.h"

namespace heed::cli {

/// The names of benchmark cases of any kind.
template <typename Cases>
std::vector<std::string> names_of(const Cases& cases) {
  std::vector<std::string> names;
  for (const auto& one : cases) names.emplace_back(one.name);
  return names;
}

class BenchTable {
 public:
  /// `cases`: the names of all that will be added, in their order. The heading stands above the
  /// first row: work that fails before it prints no table.
  BenchTable(bool as_json, std::vector<std::string> cases, std::string heading);

  /// `spread` of the times of the case `name`, as Steadiness has it.
  void add(const std::string& name, double spread, const std::string& row, Json json);
  /// `footer` closes the table.
  void finish(const std::string& footer);

 private:
  void name_next();

  bool as_json_;
  std::vector<std::string> left_;  // in reverse: the next case is the last
  std::string heading_;            // until it is printed
  Json list_ = Json::array();
  ProgressLine progress_;
  Steadiness steadiness_;
};

}  // namespace heed::cli
