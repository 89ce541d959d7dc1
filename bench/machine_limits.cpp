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

// A loop of the instruction; empty if the target lacks it.
double multiply_add_pairs(std::int64_t rounds) {
#if HWY_TARGET == HWY_AVX3
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) sums[i] = hn::Zero(d);
  const auto pairs = hn::Zero(d);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i)
      asm volatile("vdpbf16ps %1, %1, %0" : "+v"(sums[i].raw) : "v"(pairs.raw));
  }
  return 4.0 * kChains * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
#else
  return multiply_add(rounds);
#endif
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
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "heed/tensor.h"
#include "heed/threads.h"
#include "ops/kernels/matmul.h"

namespace heed {
namespace limits {
HWY_EXPORT(multiply_add);
HWY_EXPORT(multiply_add_pairs);
HWY_EXPORT(read);
}  // namespace limits

namespace {

constexpr std::int64_t kPieces = 16;  // per thread, so that all end together

/// Work per second of `threads` threads; `work(piece)` does one of 16 pieces per thread and returns
/// its amount.
template <class Work>
double rate(int threads, int repetitions, const Work& work) {
  double best = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    std::atomic<double> amount = 0;
    const auto begin = std::chrono::steady_clock::now();
    parallel_for(threads * kPieces, [&](std::int64_t piece, int) { amount += work(piece); });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, amount / seconds.count());
  }
  return best;
}

}  // namespace

double peak_gflops(int threads) {
  constexpr std::int64_t kRounds = 300'000 / kPieces;
  const auto work = [](std::int64_t) {
    return HWY_DYNAMIC_DISPATCH(limits::multiply_add)(kRounds);
  };
  return rate(threads, 20, work) * 1e-9;
}

double peak_pair_gflops(int threads) {
  if (!kernels::has_fast_pairs()) return peak_gflops(threads);
  constexpr std::int64_t kRounds = 300'000 / kPieces;
  const auto work = [](std::int64_t) {
    return HWY_DYNAMIC_DISPATCH(limits::multiply_add_pairs)(kRounds);
  };
  return rate(threads, 20, work) * 1e-9;
}

namespace {

double read_rate(int threads, int repetitions, std::int64_t floats_of_piece) {
  const Tensor memory = Tensor::zeros({threads * kPieces, floats_of_piece});
  const float* data = memory.data<float>();
  const auto work = [&](std::int64_t piece) {
    return HWY_DYNAMIC_DISPATCH(limits::read)(data + piece * floats_of_piece, floats_of_piece);
  };
  return rate(threads, repetitions, work) * 1e-9;
}

}  // namespace

double read_gbytes_per_second(int threads) {
  // 256 MiB per thread; on CPUs with a larger last-level cache this measures that cache.
  return read_rate(threads, 3, (std::int64_t{1} << 26) / kPieces);
}

double warm_read_gbytes_per_second(int threads, std::int64_t bytes) {
  return read_rate(threads, 20, bytes / std::int64_t{sizeof(float)} / (threads * kPieces));
}

}  // namespace heed
#endif
