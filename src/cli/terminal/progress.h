// The progress of a long command, on one line of stderr, if that is a terminal.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace heed::cli {

/// `12 s`, `3 min 07 s`, `2 h 05 min`.
std::string duration(double seconds);

/// `layers 5/12  2.1/s  3 s left`; without a total, `attention  12 s`.
std::string progress_text(const std::string& what, std::int64_t done, std::int64_t total,
                          double seconds);

/// Appears $HEED_PROGRESS seconds (default 2) after `begin` and disappears with the object; with 0
/// it shows every step. Does nothing unless stderr is a terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();

  /// Begins other work with `total` parts, or 0 if they cannot be counted. "" shows nothing.
  void begin(std::string what, std::int64_t total = 0);
  void advance();
  /// The next part of the same work: "timing causal-n4096-d64".
  void name(std::string what);
  /// Hides the line while `print` writes to the same terminal.
  void aside(const std::function<void()>& print);

 private:
  void show(const std::stop_token& stop);
  // The guard must be held:
  void step();  // if every step is shown, shows the line at once
  void draw();
  void erase();

  std::mutex guard_;
  std::condition_variable_any ended_;
  std::string what_;
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
  std::chrono::steady_clock::time_point began_;
  std::chrono::duration<double> delay_;
  bool shown_ = false;
  std::jthread painter_;  // last, because it uses the other members
};

}  // namespace heed::cli
