#include "bench/attention_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "bench/choose_cases.h"
#include "bench/machine_limits.h"
#include "bench/normal.h"
#include "bench/peak_memory.h"
#include "bench/repeat.h"
#include "heed/base/threads.h"
#include "heed/masks/band.h"
#include "heed/ops/attention.h"

namespace heed {
namespace {

// What a case works on.
struct Operands {
  explicit Operands(const AttentionBenchCase& problem)
      : value_dim(problem.value_dim > 0 ? problem.value_dim : problem.head_dim),
        q(normal({problem.batch, problem.heads, problem.length, problem.head_dim}, DType::kF32, 1,
                 1)),
        k(normal({problem.batch, problem.kv_heads, problem.length, problem.head_dim}, DType::kF32,
                 1, 2)),
        v(normal({problem.batch, problem.kv_heads, problem.length, value_dim}, DType::kF32, 1, 3)),
        dout(normal({problem.batch, problem.heads, problem.length, value_dim}, DType::kF32, 1, 4)) {
    args = {.q = q, .keys = {k, v}, .mask = problem.mask};
    args.scores.similarity = problem.similarity;
    args.scores.normaliser = problem.normaliser;
    if (!problem.bias.empty()) {
      bias = normal(Shape(std::span<const std::int64_t>(problem.bias)), DType::kF32, 1, 5);
      args.scores.bias = bias;
    }
    if (problem.dropout > 0) args.dropout = Dropout{.rate = problem.dropout, .seed = 7};
  }

  std::int64_t value_dim;
  Tensor q, k, v, dout, bias;
  AttentionArgs args;
};

AttentionTiming timed(const Plan& plan, const std::function<void()>& work) {
  AttentionTiming timing = {.kernel = plan.kernel, .threads = thread_count()};
  timing.peak_bytes = peak_bytes_of(work);
  const Repeated times = repeat(work);
  timing.seconds = times.seconds;
  timing.spread = times.spread;
  timing.gflops = plan.flop / timing.seconds * 1e-9;
  timing.gbytes_per_second = plan.bytes / timing.seconds * 1e-9;
  timing.peak_gflops = peak_gflops(timing.threads);
  timing.fraction_of_peak = timing.gflops / timing.peak_gflops;
  return timing;
}

AttentionTiming time_forward(const AttentionArgs& args) {
  return timed(plan_attention(args), [&] { attention(args); });
}

AttentionTiming time_backward(const AttentionArgs& args, const Tensor& dout) {
  const Attended attended = attention(args);
  const AttentionGradRequest request = {.dbias = args.scores.bias.given()};
  return timed(plan_attention_backward(args),
               [&] { attention_backward(args, attended, dout, request); });
}

using NamedCases = std::vector<std::pair<std::string_view, AttentionBenchCase>>;

// Named forms of one shape.
NamedCases forms() {
  constexpr std::int64_t kLength = 2048;
  constexpr std::int64_t kHeads = 8;
  const AttentionBenchCase plain = {
      .heads = kHeads, .kv_heads = kHeads, .length = kLength, .head_dim = 64, .mask_name = "none"};
  NamedCases all(8, {"plain", plain});
  all[1].first = "causal";
  all[1].second.mask_name = "causal";
  all[1].second.mask = causal();
  all[2].first = "dropout";
  all[2].second.dropout = 0.1;
  all[3].first = "bias";
  all[3].second.bias = {1, kHeads, kLength, kLength};
  all[4].first = "shared-bias";
  all[4].second.bias = {1, 1, kLength, kLength};
  all[5].first = "wide-values";
  all[5].second.value_dim = 128;
  all[6].first = "sigmoid";
  all[6].second.normaliser = Normaliser::kSigmoid;
  all[7].first = "gaussian";
  all[7].second.similarity = Similarity::kGaussian;
  return all;
}

// The masks and heads that one size is timed with.
NamedCases sized(std::int64_t head_dim, std::int64_t length) {
  const std::int64_t heads = length >= 4096 ? 4 : 8;
  const AttentionBenchCase plain = {.heads = heads,
                                    .kv_heads = heads,
                                    .length = length,
                                    .head_dim = head_dim,
                                    .mask_name = "none"};
  AttentionBenchCase masked = plain;
  masked.mask_name = "causal";
  masked.mask = causal();
  NamedCases all = {{"plain", plain}, {"causal", masked}};
  if (length >= 1024) {
    masked.mask_name = "window";
    masked.mask = band({.left = 255, .right = 0});
    all.emplace_back("window", masked);
  }
  AttentionBenchCase& grouped = all.emplace_back("grouped", plain).second;
  grouped.kv_heads = heads / 4;
  return all;
}

}  // namespace

std::vector<AttentionBenchCase> attention_bench_cases() {
  std::vector<AttentionBenchCase> cases;
  const auto add = [&cases](const NamedCases& all) {
    for (const auto& [kind, problem] : all) {
      cases.push_back(problem);
      cases.back().name = fmt::format("{}-n{}-d{}", kind, problem.length, problem.head_dim);
    }
  };
  for (const std::int64_t head_dim : {64, 128})
    for (const std::int64_t length : {64, 256, 1024, 4096}) add(sized(head_dim, length));
  add(forms());
  return cases;
}

std::vector<AttentionBenchCase> choose_bench_cases(const std::vector<std::string>& names) {
  return choose_cases(attention_bench_cases(), names);
}

void time_attention(const std::vector<AttentionBenchCase>& cases, BenchPass pass,
                    const std::string& kernel,
                    const std::function<void(const AttentionTiming&)>& done) {
  const double read = read_gbytes_per_second(thread_count());
  for (const AttentionBenchCase& problem : cases) {
    Operands operands(problem);
    operands.args.kernel = kernel;
    AttentionTiming timing = pass == BenchPass::kForward
                                 ? time_forward(operands.args)
                                 : time_backward(operands.args, operands.dout);
    timing.problem = problem;
    timing.read_gbytes_per_second = read;
    done(timing);
  }
}

}  // namespace heed
