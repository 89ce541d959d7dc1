#include "bench/peak_memory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include "tensor/memory.h"

namespace heed {
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
