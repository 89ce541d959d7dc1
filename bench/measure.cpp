#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/memory.h"

namespace heed {
namespace {

constexpr double kSecondsACase = 0.5;
constexpr std::size_t kFewest = 5;
constexpr std::size_t kMost = 1000;

}  // namespace

double seconds_of(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Repeated repeat(const std::function<void()>& work, const std::function<void()>& prepare) {
  const auto once = [&] {
    prepare();
    return seconds_of(work);
  };
  once();
  const auto wanted = static_cast<std::size_t>(kSecondsACase / std::max(once(), 1e-6));
  std::vector<double> times(std::clamp(wanted, kFewest, kMost));
  for (double& time : times) time = once();
  return summary(std::move(times));
}

Repeated summary(std::vector<double> times) {
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  return {median, (times[times.size() * 3 / 4] - times[times.size() / 4]) / median, times.front()};
}

std::vector<double> times_within(double seconds, const std::function<void()>& work) {
  std::vector<double> times;
  for (double sum = 0; times.empty() || sum < seconds; sum += times.back())
    times.push_back(seconds_of(work));
  return times;
}

namespace {

std::int64_t status_bytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::int64_t kilobytes = 0; word == name && status >> kilobytes) return kilobytes * 1024;
  return -1;
}

bool forget_peak() {
  std::ofstream refs("/proc/self/clear_refs");
  refs << "5" << std::flush;
  return refs.good();
}

}  // namespace

std::int64_t peak_bytes_of(const std::function<void()>& work) {
  free_kept_blocks();
  const bool known = forget_peak();
  const std::int64_t before = status_bytes("VmRSS:");
  work();
  const std::int64_t peak = status_bytes("VmHWM:");
  if (!known || before < 0 || peak < 0) return -1;
  return std::max<std::int64_t>(peak - before, 0);
}

}  // namespace heed
