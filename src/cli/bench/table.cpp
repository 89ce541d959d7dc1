#include "cli/bench/table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/terminal/output.h"

namespace heed::cli {

BenchTable::BenchTable(bool as_json, std::vector<std::string> cases, std::string heading)
    : as_json_(as_json), left_(std::move(cases)), heading_(std::move(heading)) {
  progress_.begin("",
                  left_.size() > 1 ? std::ssize(left_) : 0);  // one case: only the time is shown
  std::ranges::reverse(left_);
  name_next();
}

void BenchTable::name_next() {
  if (left_.empty()) return;
  progress_.name("timing " + left_.back());
  left_.pop_back();
}

void BenchTable::add(const std::string& name, double spread, const std::string& row, Json json) {
  if (as_json_)
    list_.push(std::move(json));
  else
    progress_.aside([&] { print(std::exchange(heading_, "") + row); });
  progress_.advance();
  name_next();
  steadiness_.saw(name, spread);
}

void BenchTable::finish(const std::string& footer) {
  progress_.begin("");
  print(as_json_ ? list_.dump(2) + "\n" : heading_ + footer);
  steadiness_.report();
}

}  // namespace heed::cli
