// Small training runs and their output, for tests.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "heed/train.h"
#include "io/atomic_file.h"

namespace heed::test {

/// Records events; `at_step` may do anything, `stop_at` ends the run there.
class Recorder : public TrainListener {
 public:
  void stepped(const TrainProgress& progress) override {
    last = progress;
    if (at_step) at_step(progress.step);
  }
  void note(std::string_view text) override { notes.emplace_back(text); }
  bool stop() override { return last.step == stop_at; }

  TrainProgress last;
  std::vector<std::string> notes;
  std::function<void(std::int64_t)> at_step;
  std::int64_t stop_at = -1;
};

/// The rows of a run's loss.csv up to the seconds: equal texts are equal losses, bit for bit.
inline std::vector<std::string> loss_rows(const std::filesystem::path& folder) {
  std::istringstream text(read_file(folder / "loss.csv"));
  std::vector<std::string> rows;
  for (std::string line; std::getline(text, line);) {
    std::size_t end = 0;
    for (int field = 0; field < 5; ++field) end = line.find(',', end) + 1;
    rows.push_back(line.substr(0, end - 1));
  }
  return rows;
}

/// A text with something to learn, of about `bytes` bytes.
inline std::string counting_text(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i)
    text += fmt::format("after {} comes {}.\n", i % 97, (i + 1) % 97);
  return text;
}

}  // namespace heed::test
