#include "heed/cases/attention_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "cases/choose_cases.h"
#include "cases/repeat.h"
#include "heed/base/philox.h"
#include "heed/base/threads.h"
#include "heed/cases/machine_limits.h"
#include "heed/masks/band.h"
#include "heed/ops/attention.h"

namespace heed {
namespace {

Tensor normal(const Shape& shape, std::uint32_t stream) {
  Random random(2024, stream);
  Tensor tensor = Tensor::empty(shape);
  for (std::int64_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<float>()[i] = static_cast<float>(random.normal());
  return tensor;
}

AttentionTiming time_one(const AttentionBenchCase& problem, const std::string& kernel) {
  const auto& [name, batch, heads, kv_heads, length, head_dim, mask_name, mask] = problem;
  const Tensor q = normal({batch, heads, length, head_dim}, 1);
  const Tensor k = normal({batch, kv_heads, length, head_dim}, 2);
  const Tensor v = normal({batch, kv_heads, length, head_dim}, 3);
  Attended into = {Tensor::empty({batch, heads, length, head_dim}),
                   Tensor::empty({batch, heads, length}), Tensor::empty({batch, heads, length})};
  const AttentionArgs args = {.q = q, .keys = {k, v}, .mask = mask, .kernel = kernel};
  const Plan plan = plan_attention(args);
  const AttendedView views = {into.out, into.lse, into.lse_low};
  const Repeated times = repeat([&] { attention(args, views); });

  AttentionTiming timing = {.problem = problem, .kernel = plan.kernel, .threads = thread_count()};
  timing.seconds = times.seconds;
  timing.spread = times.spread;
  timing.gflops = plan.flop / timing.seconds * 1e-9;
  timing.gbytes_per_second = plan.bytes / timing.seconds * 1e-9;
  timing.peak_gflops = peak_gflops(timing.threads);
  timing.fraction_of_peak = timing.gflops / timing.peak_gflops;
  return timing;
}

}  // namespace

std::vector<AttentionBenchCase> attention_bench_cases() {
  std::vector<AttentionBenchCase> cases;
  const auto add = [&cases](std::string_view kind, AttentionBenchCase problem) {
    problem.name = fmt::format("{}-n{}-d{}", kind, problem.length, problem.head_dim);
    cases.push_back(std::move(problem));
  };
  for (const std::int64_t head_dim : {64, 128})
    for (const std::int64_t length : {64, 256, 1024, 4096}) {
      const std::int64_t heads = length >= 4096 ? 4 : 8;
      const AttentionBenchCase plain = {.heads = heads,
                                        .kv_heads = heads,
                                        .length = length,
                                        .head_dim = head_dim,
                                        .mask_name = "none"};
      add("plain", plain);
      AttentionBenchCase masked = plain;
      masked.mask_name = "causal";
      masked.mask = causal();
      add("causal", masked);
      if (length >= 1024) {
        masked.mask_name = "window";
        masked.mask = band({.left = 255, .right = 0});
        add("window", masked);
      }
      AttentionBenchCase grouped = plain;
      grouped.kv_heads = heads / 4;
      add("grouped", grouped);
    }
  return cases;
}

std::vector<AttentionBenchCase> choose_bench_cases(const std::vector<std::string>& names) {
  return choose_cases(attention_bench_cases(), names);
}

void time_attention(const std::vector<AttentionBenchCase>& cases, const std::string& kernel,
                    const std::function<void(const AttentionTiming&)>& done) {
  const double read = read_gbytes_per_second(thread_count());
  for (const AttentionBenchCase& problem : cases) {
    AttentionTiming timing = time_one(problem, kernel);
    timing.read_gbytes_per_second = read;
    done(timing);
  }
}

}  // namespace heed
