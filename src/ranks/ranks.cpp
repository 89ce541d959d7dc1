#include "heed/ranks.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "heed/error.h"
#include "ranks/mpi_module.h"

namespace heed {
namespace {

constexpr int kSumChannel = 0;
constexpr int kGatherChannel = 1;
constexpr int kBroadcastChannel = 2;

// Part `index` of this many values.
template <typename T>
std::span<T> share_of(std::span<T> values, int index, int count) {
  const auto begin = [&](int at) {
    return values.size() * static_cast<std::size_t>(at) / static_cast<std::size_t>(count);
  };
  return values.subspan(begin(index), begin(index + 1) - begin(index));
}

}  // namespace

void gather(Ranks& ranks, std::span<const std::byte> own, std::span<std::byte> all) {
  const auto count = static_cast<std::size_t>(ranks.count());
  if (all.size() != count * own.size())
    fail("gather", "all", std::to_string(all.size()) + " bytes",
         std::to_string(count * own.size()) + ", those of every rank");
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int peer = 0; peer < ranks.count(); ++peer) {
    const auto place = all.subspan(static_cast<std::size_t>(peer) * own.size(), own.size());
    if (peer == ranks.rank()) {
      std::ranges::copy(own, place.begin());
    } else {
      out.push_back({peer, own});
      in.push_back({peer, place});
    }
  }
  ranks.start(out, in, kGatherChannel)->wait();
}

void broadcast(Ranks& ranks, std::span<std::byte> bytes) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int peer = 1; peer < ranks.count() && ranks.rank() == 0; ++peer)
    out.push_back({peer, bytes});
  if (ranks.rank() > 0) in.push_back({0, bytes});
  ranks.start(out, in, kBroadcastChannel)->wait();
}

namespace {

// Each rank's terms for one share, on the rank that adds them.
using Terms = std::vector<std::vector<float>>;

Terms exchange_shares(Ranks& ranks, std::span<float> values) {
  const int self = ranks.rank();
  Terms given(static_cast<std::size_t>(ranks.count()));
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int peer = 0; peer < ranks.count(); ++peer) {
    auto& terms = given[static_cast<std::size_t>(peer)];
    const std::span<float> own = share_of(values, self, ranks.count());
    terms.assign(own.begin(), own.end());
    if (peer == self) continue;
    out.push_back({peer, std::as_bytes(share_of(values, peer, ranks.count()))});
    in.push_back({peer, std::as_writable_bytes(std::span(terms))});
  }
  ranks.start(out, in, kSumChannel)->wait();
  return given;
}

void spread_shares(Ranks& ranks, std::span<float> values) {
  const int self = ranks.rank();
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int peer = 0; peer < ranks.count(); ++peer) {
    if (peer == self) continue;
    out.push_back({peer, std::as_bytes(share_of(values, self, ranks.count()))});
    in.push_back({peer, std::as_writable_bytes(share_of(values, peer, ranks.count()))});
  }
  ranks.start(out, in, kSumChannel)->wait();
}

}  // namespace

void sum(Ranks& ranks, std::span<float> values) {
  if (ranks.count() == 1) return;
  const Terms given = exchange_shares(ranks, values);
  const std::span<float> own = share_of(values, ranks.rank(), ranks.count());
  for (std::size_t i = 0; i < own.size(); ++i) {
    double total = 0;
    for (const std::vector<float>& terms : given) total += static_cast<double>(terms[i]);
    own[i] = static_cast<float>(total);
  }
  spread_shares(ranks, values);
}

namespace {

enum class End : std::uint8_t { kDone, kLeft, kFailed };

struct Ended {
  End how = End::kDone;
  std::exception_ptr thrown = {};
};

Ended end_of(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    const bool left = error.code() == ErrorCode::kInterrupted;
    return {left ? End::kLeft : End::kFailed, std::current_exception()};
  } catch (...) {
    return {End::kFailed, std::current_exception()};
  }
}

}  // namespace

void run_together(Ranks& ranks, const std::function<void()>& work) {
  const Ended own = end_of(work);
  std::vector<End> all(static_cast<std::size_t>(ranks.count()));
  gather(ranks, std::as_bytes(std::span(&own.how, 1)), std::as_writable_bytes(std::span(all)));
  const auto first = std::ranges::find(all, End::kFailed) - all.begin();
  if (first == ranks.rank()) std::rethrow_exception(own.thrown);
  if (first < ranks.count()) throw AnotherRankFailed();
  if (own.how == End::kLeft) std::rethrow_exception(own.thrown);
  if (std::ranges::find(all, End::kLeft) != all.end())
    fail({.code = ErrorCode::kInterrupted, .op = "ranks", .found = "another rank was interrupted"});
}

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
