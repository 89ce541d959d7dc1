// Measurements of some work: its time and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace heed {

double seconds_of(const std::function<void()>& work);

struct Repeated {
  double seconds = 0;  // median
  double spread = 0;   // of the middle half, relative to the median
  double fastest = 0;  // seconds
};

/// The median and the spread of these times, at least one.
Repeated summary(std::vector<double> times);

/// Runs `work` repeatedly until `seconds` have passed, at least once. Returns the seconds of each
/// run.
std::vector<double> times_within(double seconds, const std::function<void()>& work);

/// Runs `work` twice to warm caches and page in its outputs, then for about half a second, 5 to
/// 1,000 times. `prepare` runs before each, untimed.
Repeated repeat(const std::function<void()>& work, const std::function<void()>& prepare = [] {});

/// Bytes of memory at the peak of `work`, in excess of those before it: Linux records a process's
/// maximum, which can be reset. -1 if the system does not report it. Frees the blocks kept for new
/// tensors first.
std::int64_t peak_bytes_of(const std::function<void()>& work);

}  // namespace heed
