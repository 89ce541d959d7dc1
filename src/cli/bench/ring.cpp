// heed bench ring: attention over one long text by the processes started by mpirun.
#include <fmt/format.h>

#include <string>

#include "base/formats/json.h"
#include "base/machine.h"
#include "bench/ring_bench.h"
#include "cli/bench/bench.h"
#include "cli/terminal/output.h"
#include "cli/together.h"
#include "heed/error.h"
#include "heed/ranks.h"
#include "heed/threads.h"

namespace heed::cli {
namespace {

Json as_json(const RingTiming& timing) {
  return {{"tokens", timing.tokens},
          {"ranks", timing.ranks},
          {"heads", kRingHeads},
          {"head_dim", kRingHeadDim},
          {"mask", "causal"},
          {"forward_seconds", timing.forward_seconds},
          {"backward_seconds", timing.backward_seconds},
          {"peak_bytes", timing.peak_bytes},
          {"one_process",
           {{"forward_seconds", timing.one_forward_seconds},
            {"backward_seconds", timing.one_backward_seconds},
            {"peak_bytes", timing.one_peak_bytes}}},
          {"largest_difference", timing.largest_difference}};
}

std::string as_text(const RingTiming& timing, int threads) {
  const auto row = [](const std::string& who, double forward, double backward, std::int64_t bytes) {
    return fmt::format("{:<16} {:>9.2f}  {:>10.2f}  {:>9.1f}\n", who, forward, backward,
                       static_cast<double>(bytes) / 1e6);
  };
  return fmt::format(
             "{}; {} tokens, {} heads of {}, causal, f32; threads per rank: {}\n"
             "                 forward s  backward s  peak MB a rank\n",
             cpu_name(), timing.tokens, kRingHeads, kRingHeadDim, threads) +
         row(fmt::format("{} ranks", timing.ranks), timing.forward_seconds, timing.backward_seconds,
             timing.peak_bytes) +
         row("one of them", timing.one_forward_seconds, timing.one_backward_seconds,
             timing.one_peak_bytes) +
         fmt::format("largest difference of out, dq, dk and dv: {:.1e}\n",
                     timing.largest_difference);
}

int time_and_print(StartedRanks& ranks, const BenchOptions& options) {
  set_thread_count(fair_thread_count(ranks));
  const std::int64_t parts = 2 * std::int64_t{ranks.count()};
  constexpr std::int64_t kUsualTokens = 16384;
  const std::int64_t asked = options.tokens > 0 ? options.tokens : kUsualTokens;
  const std::int64_t tokens = asked / parts * parts;
  if (tokens == 0)
    fail({.argument = "--tokens", .found = asked, .expected = fmt::format("{} or more", parts)});
  const RingTiming timing = time_ring(ranks, tokens, RingSplit::kZigzag);
  if (ranks.rank() == 0)
    print(options.json ? as_json(timing).dump(2) + "\n" : as_text(timing, thread_count()));
  return 0;
}

}  // namespace

int bench_ring(const BenchOptions& options) {
  const auto ranks = open_ranks();
  if (ranks == nullptr)
    fail({.argument = "ring",
          .found = "one process",
          .expected = "several: mpirun -n 4 heed bench ring"});
  return together(*ranks, [&] { return time_and_print(*ranks, options); });
}

}  // namespace heed::cli
