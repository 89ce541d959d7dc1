#include "cli/terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/numbers.h"
#include "base/wording.h"
#include "cli/terminal/output.h"
#include "heed/error.h"

namespace heed::cli {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

std::chrono::duration<double> delay() {
  const char* const given = std::getenv("HEED_PROGRESS");
  if (given == nullptr || *given == '\0') return 2s;
  double seconds = 0;
  if (!read_number(given, seconds) || !(seconds >= 0) || seconds > 1e6)
    fail({.argument = "HEED_PROGRESS",
          .found = fmt::format("'{}'", clipped(given, 40)),
          .expected = "seconds from 0 to 1e6"});
  return std::chrono::duration<double>(seconds);
}

}  // namespace

std::string duration(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string progress_text(const std::string& what, std::int64_t done, std::int64_t total,
                          double seconds) {
  if (total == 0) return fmt::format("{}  {}", what, duration(seconds));
  if (done == 0) return fmt::format("{} 0/{}  {}", what, total, duration(seconds));
  const double rate = static_cast<double>(done) / seconds;
  return fmt::format("{} {}/{}  {:.3g}/s  {} left", what, done, total, rate,
                     duration(static_cast<double>(total - done) / rate));
}

ProgressLine::ProgressLine() : began_(steady_clock::now()), delay_(delay()) {
  if (::isatty(STDERR_FILENO) != 0)
    painter_ = std::jthread([this](const std::stop_token& stop) { show(stop); });
}

ProgressLine::~ProgressLine() {
  if (!painter_.joinable()) return;
  painter_.request_stop();
  painter_.join();
  erase();
}

void ProgressLine::begin(std::string what, std::int64_t total) {
  const std::scoped_lock lock(guard_);
  erase();
  what_ = std::move(what);
  done_ = 0;
  total_ = total;
  began_ = steady_clock::now();
  step();
}

void ProgressLine::advance() {
  const std::scoped_lock lock(guard_);
  ++done_;
  step();
}

void ProgressLine::name(std::string what) {
  const std::scoped_lock lock(guard_);
  what_ = std::move(what);
  step();
}

void ProgressLine::aside(const std::function<void()>& print) {
  const std::scoped_lock lock(guard_);
  erase();
  print();
}

void ProgressLine::show(const std::stop_token& stop) {
  std::unique_lock lock(guard_);
  while (!ended_.wait_for(lock, stop, 200ms, [] { return false; }) && !stop.stop_requested()) {
    if (!what_.empty() && steady_clock::now() - began_ >= delay_) draw();
  }
}

void ProgressLine::step() {
  if (painter_.joinable() && delay_ == 0s && !what_.empty()) draw();
}

void ProgressLine::draw() {
  const std::chrono::duration<double> passed = steady_clock::now() - began_;
  tell("\r{}\x1b[K", progress_text(what_, done_, total_, passed.count()));
  shown_ = true;
}

void ProgressLine::erase() {
  if (std::exchange(shown_, false)) tell("\r\x1b[K");
}

}  // namespace heed::cli
