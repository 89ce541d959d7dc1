#include "bench/machine_limits.h"

#include "hwy/detect_targets.h"
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/machine_limits.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::limits::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve chains: two units times a latency of four or five cycles need eight to ten, and AVX2 has
// 16 registers.
constexpr int kChains = 12;

double multiply_add(std::int64_t rounds) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  auto a = hn::Set(d, 0.9999f);
  auto b = hn::Set(d, 0.0001f);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = hn::MulAdd(sums[i], a, b);
  }
  auto total = sums[0];
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) total = hn::Add(total, sums[i]);
  volatile float sink = hn::GetLane(total);
  static_cast<void>(sink);
  return 2.0 * kChains * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

double read(const float* from, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (std::int64_t i = 0; i + 4 * lanes <= count; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(d, from + i));
    s1 = hn::Add(s1, hn::LoadU(d, from + i + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, from + i + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(d, from + i + 3 * lanes));
  }
  volatile float sink = hn::GetLane(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
  static_cast<void>(sink);
  return static_cast<double>(count) * sizeof(float);
}

}  // namespace heed::limits::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "heed/tensor/tensor.h"

namespace heed {
namespace limits {
HWY_EXPORT(multiply_add);
HWY_EXPORT(read);
}  // namespace limits

namespace {

/// Work per second of `threads` threads that start together; `work(thread)` returns its amount.
template <class Work>
double rate(int threads, int repetitions, const Work& work) {
  double best = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    double amount = 0;
    double begin = 0;
    double seconds = 0;
#pragma omp parallel num_threads(threads) reduction(+ : amount)
    {
#pragma omp barrier
#pragma omp master
      begin = omp_get_wtime();
      amount = work(omp_get_thread_num());
#pragma omp barrier
#pragma omp master
      seconds = omp_get_wtime() - begin;
    }
    best = std::max(best, amount / seconds);
  }
  return best;
}

}  // namespace

double peak_gflops(int threads) {
  constexpr std::int64_t kRounds = 300'000;
  const auto work = [](int) { return HWY_DYNAMIC_DISPATCH(limits::multiply_add)(kRounds); };
  return rate(threads, 20, work) * 1e-9;
}

double read_gbytes_per_second(int threads) {
  // 256 MiB a thread; on CPUs with a larger last-level cache this is that cache's rate.
  constexpr std::int64_t kFloats = std::int64_t{1} << 26;
  const Tensor memory = Tensor::zeros({threads, kFloats});
  const float* data = memory.data<float>();
  const auto work = [&](int thread) {
    return HWY_DYNAMIC_DISPATCH(limits::read)(data + thread * kFloats, kFloats);
  };
  return rate(threads, 3, work) * 1e-9;
}

}  // namespace heed
#endif
