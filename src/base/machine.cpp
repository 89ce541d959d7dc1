#include "base/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/wording.h"
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
          .expected = fmt::format("one of {}", joined(kNames, ", "))});
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

bool multiplies_bf16_fast() {
#if defined(__x86_64__)
  static const bool fast = [] {
    __builtin_cpu_init();
    return allowed_isa() >= Isa::kAvx512Bf16 && __builtin_cpu_supports("avx512bf16") != 0 &&
           __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_is("amd") != 0;
  }();
  return fast;
#else
  return false;
#endif
}

bool multiplies_bytes_in_fours() {
#if defined(__x86_64__)
  static const bool has = [] {
    __builtin_cpu_init();
    return allowed_isa() >= Isa::kAvx512Bf16 && __builtin_cpu_supports("avx512vnni") != 0;
  }();
  return has;
#else
  return false;
#endif
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

namespace {

namespace fs = std::filesystem;

// The number behind a word in a file of lines such as "MemAvailable: 1024 kB".
std::optional<std::int64_t> number_behind(const fs::path& file, const std::string& word) {
  std::ifstream lines(file);
  for (std::string found; lines >> found;) {
    std::int64_t number = 0;
    if (found == word && lines >> number) return number;
  }
  return {};
}

// "max", as of no limit, is not a number.
std::optional<std::int64_t> number_in(const fs::path& file) {
  std::int64_t number = 0;
  if (std::ifstream lines(file); lines >> number) return number;
  return {};
}

struct GroupFiles {
  const char* limit;
  const char* used;
  const char* cached;  // of memory.stat: pages of files, which the system can take back
};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_inactive_file"};

void bound_by_group(const fs::path& folder, const GroupFiles& files, std::int64_t& bytes) {
  const auto limit = number_in(folder / files.limit), used = number_in(folder / files.used);
  if (!limit || !used) return;
  const std::int64_t cached = number_behind(folder / "memory.stat", files.cached).value_or(0);
  bytes = std::min(bytes, std::max<std::int64_t>(0, *limit - *used + cached));
}

// The group of the process and all above it.
void bound_by_groups(const fs::path& top, std::string group, const GroupFiles& files,
                     std::int64_t& bytes) {
  while (!group.empty() && group != "/") {
    bound_by_group(top / group.substr(1), files, bytes);
    group.resize(group.rfind('/'));
  }
  bound_by_group(top, files, bytes);
}

}  // namespace

std::optional<std::int64_t> memory_free(const fs::path& root) {
  const auto available = number_behind(root / "proc/meminfo", "MemAvailable:");
  if (!available) return {};
  std::int64_t bytes = *available * 1024;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/user", "4:memory:/user"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty())
      bound_by_groups(root / "sys/fs/cgroup", group, kVersion2, bytes);
    else if (("," + controllers + ",").find(",memory,") != std::string::npos)
      bound_by_groups(root / "sys/fs/cgroup/memory", group, kVersion1, bytes);
  }
  return bytes;
}

double memory_there() {
  double bytes =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  for (const char* file :  // control groups of version 2 and of version 1
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const std::int64_t limit = number_in(file).value_or(0);
    if (limit > 0) bytes = std::min(bytes, static_cast<double>(limit));
  }
  return bytes;
}

}  // namespace heed
