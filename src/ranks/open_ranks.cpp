#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "heed/error.h"
#include "heed/ranks.h"
#include "ranks/mpi_module.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

int first_number(std::initializer_list<const char*> variables) {
  for (const char* variable : variables)
    if (const char* value = std::getenv(variable); value != nullptr)
      if (const int number = std::atoi(value); number > 0) return number;
  return 1;
}

// Paths in a build tree and in an installation.
fs::path module_path() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& folder : {program, program.parent_path() / "lib/heed"})
    if (fs::exists(folder / kMpiModule, ignored)) return folder / kMpiModule;
  return {};
}

[[noreturn]] void fail_to_open(const std::string& why) {
  fail({.code = ErrorCode::kUnsupported,
        .op = "ranks",
        .found = fmt::format("{} processes were started together, but {}", started_ranks(), why),
        .hint = "start one without mpirun"});
}

// A machine and the CPUs that a process may use there.
struct Place {
  std::array<char, 256> machine{};
  cpu_set_t cpus{};

  static Place own() {
    Place here;
    gethostname(here.machine.data(), here.machine.size() - 1);
    CPU_ZERO(&here.cpus);
    sched_getaffinity(0, sizeof here.cpus, &here.cpus);
    return here;
  }
  bool same_as(const Place& other) const {
    return machine == other.machine && CPU_EQUAL(&cpus, &other.cpus) != 0;
  }
};

}  // namespace

int started_ranks() { return first_number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}); }

std::unique_ptr<StartedRanks> open_ranks() {
  if (started_ranks() == 1) return nullptr;
  const fs::path path = module_path();
  if (path.empty()) fail_to_open(fmt::format("this heed has no MPI ({} is absent)", kMpiModule));
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (module == nullptr)
    fail_to_open(fmt::format("{} does not open: {}", path.string(), dlerror()));
  const auto open =
      reinterpret_cast<decltype(&heed_open_mpi_ranks)>(dlsym(module, kMpiModuleOpens));
  if (open == nullptr) fail_to_open(fmt::format("{} is of another heed", path.string()));
  return std::unique_ptr<StartedRanks>(open());
}

int fair_thread_count(Ranks& ranks) {
  const Place own = Place::own();
  std::vector<Place> all(static_cast<std::size_t>(ranks.count()));
  gather(ranks, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  const auto sharing =
      std::ranges::count_if(all, [&](const Place& other) { return own.same_as(other); });
  return std::max(1, CPU_COUNT(&own.cpus) / static_cast<int>(sharing));
}

}  // namespace heed
