#include "cli/bench/table.h"

#include <utility>

#include "cli/terminal/output.h"

namespace heed::cli {

BenchTable::BenchTable(bool as_json, std::int64_t cases, const std::string& heading)
    : as_json_(as_json) {
  if (!as_json_) print(heading);
  progress_.begin("cases", cases);
}

void BenchTable::add(const std::string& name, double spread, const std::string& row,
                     nlohmann::ordered_json json) {
  if (as_json_)
    list_.push_back(std::move(json));
  else
    progress_.aside([&] { print(row); });
  progress_.advance();
  steadiness_.saw(name, spread);
}

void BenchTable::finish(const std::string& footer) {
  progress_.begin("");
  print(as_json_ ? list_.dump(2) + "\n" : footer);
  steadiness_.report();
}

}  // namespace heed::cli
