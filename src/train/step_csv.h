// A CSV file with one row a step. A row is one write, so a kill leaves whole rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace heed {

class StepCsv {
 public:
  /// Opens or begins the file; `header` ends its line. Rows past `step` and a torn last one are cut
  /// off, and all of a file with another header.
  StepCsv(std::filesystem::path path, std::string_view header, std::int64_t step);
  ~StepCsv();
  StepCsv(const StepCsv&) = delete;
  StepCsv& operator=(const StepCsv&) = delete;

  /// `row` begins with the step and ends its line.
  void append(std::string_view row);
  /// To the disk, before a checkpoint of that step says that it happened.
  void flush();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace heed
