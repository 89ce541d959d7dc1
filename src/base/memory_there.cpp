#include "base/memory_there.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace heed {
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
  // Of version 2 and of version 1; "max", as of no limit, is no number.
  for (const char* file :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    double limit = 0;
    if (std::ifstream(file) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace heed
