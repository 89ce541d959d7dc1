#include "base/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "heed/error.h"
#include "hwy/targets.h"

namespace heed {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"portable", "avx2", "avx512", "avx512-bf16",
                                                    "amx"};

// Highway's targets are bits; better targets have lower bits.
std::int64_t better_than(Isa isa) {
  if (isa == Isa::kPortable) return HWY_SCALAR - 1;
  return isa == Isa::kAvx2 ? HWY_AVX2 - 1 : 0;
}

// The value at program start.
const std::string& variable() {
  static const std::string value = [] {
    const char* const given = std::getenv("HEED_ISA");
    return std::string(given != nullptr ? given : "");
  }();
  return value;
}

// Empty if the variable is not set or names no instruction set.
std::optional<Isa> wanted_isa() {
  const auto* const found = std::ranges::find(kNames, std::string_view(variable()));
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Isa>(found - kNames.begin());
}

// Highway asks the CPU at its first kernel call and at every query, and each query forgets the
// disabled targets until Update; so it is queried once.
std::int64_t choose_targets() {
  const std::int64_t disabled = better_than(wanted_isa().value_or(Isa::kAmx));
  if (disabled != 0) hwy::DisableTargets(disabled);
  const std::int64_t targets = hwy::SupportedTargets();
  hwy::GetChosenTarget().Update(targets);
  return targets;
}

const std::int64_t kBeforeMain = highway_targets();  // before main: no thread sees it half done

Isa read_isa() {
  if (const std::optional<Isa> wanted = wanted_isa()) return *wanted;
  if (!variable().empty())
    fail({.code = ErrorCode::kNotFound,
          .argument = "HEED_ISA",
          .found = fmt::format("'{}'", variable()),
          .expected = fmt::format("one of {}", fmt::join(kNames, ", "))});
  return Isa::kAmx;
}

}  // namespace

Isa allowed_isa() {
  // Not a function-local initialiser: a child forked while another thread runs one would wait
  // forever.
  static std::atomic<int> known{-1};
  int isa = known.load(std::memory_order_relaxed);
  if (isa < 0) known = isa = static_cast<int>(read_isa());
  return static_cast<Isa>(isa);
}

std::int64_t highway_targets() {
  static const std::int64_t targets = choose_targets();
  return targets;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

double memory_there() {
  double bytes =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  // Of version 2 and of version 1; "max", meaning no limit, is not a number.
  for (const char* file :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    double limit = 0;
    if (std::ifstream(file) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace heed
