#include "bench/repeat.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

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
  return {median, (times[times.size() * 3 / 4] - times[times.size() / 4]) / median};
}

std::vector<double> times_within(double seconds, const std::function<void()>& work) {
  std::vector<double> times;
  for (double sum = 0; times.empty() || sum < seconds; sum += times.back())
    times.push_back(seconds_of(work));
  return times;
}

}  // namespace heed
