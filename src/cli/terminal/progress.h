// How far a long command is: one line on stderr, where stderr is a terminal.
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

/// Shows itself $HEED_PROGRESS seconds (default 2) after `begin` and goes away with the object;
/// with 0 it shows every step, however short. Elsewhere than on a terminal it does nothing.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Other work begins: `total` parts, or 0 where they cannot be counted. Nothing is shown for "".
  void begin(std::string what, std::int64_t total = 0);
  void advance();
  /// The same work, the next part of it: "timing causal-n4096-d64".
  void name(std::string what);
  /// Takes the line away while `print` writes to the same terminal.
  void aside(const std::function<void()>& print);

 private:
  void show(const std::stop_token& stop);
  // Under the guard:
  void step();  // shows the line at once where it shows every step
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
  std::jthread painter_;  // the last member: it uses the others
};

}  // namespace heed::cli
