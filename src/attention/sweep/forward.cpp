// Exact attention, forward, for every legal form, compiled for each instruction set.
#include "attention/sweep/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/sweep/forward.cpp"
#include "hwy/foreach_target.h"
#include "attention/sweep/forward-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

template <typename T>
std::int64_t forward_bytes(const AttentionProblem& problem, std::int64_t tiles) {
  Arena arena;
  ForwardScratch<T>(problem, tiles, arena);
  return arena.bytes();
}

template <typename T>
void run_block(const AttentionProblem& problem, const AttentionForward& forward,
               const RowBlock& block, std::int64_t tiles, void* memory) {
  Arena arena(memory);
  forward_block<T>(problem, forward, block, ForwardScratch<T>(problem, tiles, arena));
}

ForwardKernel forward_kernel(const AttentionProblem& problem) {
  if (accumulator(problem) == DType::kF64) return {forward_bytes<double>, run_block<double>};
  return {forward_bytes<float>, run_block<float>};
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/machine.h"

namespace heed::kernels::sweep {
namespace {

ForwardKernel kernel_of([[maybe_unused]] SweepTarget target, const AttentionProblem& problem) {
#if HWY_TARGETS & HWY_AVX3
  if (target == SweepTarget::kAvx512) return N_AVX3::forward_kernel(problem);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (target == SweepTarget::kAvx2) return N_AVX2::forward_kernel(problem);
#endif
  return HWY_STATIC_DISPATCH(forward_kernel)(problem);
}

std::string refusal(std::int64_t target, Isa isa, const char* needs) {
  if (allowed_isa() < isa) return "HEED_ISA allows narrower vectors only";
  if ((highway_targets() & target) == 0) return needs;
  return {};
}

}  // namespace
}  // namespace heed::kernels::sweep

namespace heed::kernels {

std::string avx512_refusal(const AttentionProblem& /*problem*/) {
#if HWY_ARCH_X86 && !(HWY_TARGETS & HWY_AVX3)
  if (__builtin_cpu_supports("avx512vl") != 0)
    return "heed was built for CPUs without AVX-512 (HEED_AVX512=OFF)";
#endif
  return sweep::refusal(HWY_AVX3, Isa::kAvx512, "this CPU has no AVX-512 (F, BW, CD, DQ, VL)");
}

std::string avx2_refusal(const AttentionProblem& /*problem*/) {
  return sweep::refusal(HWY_AVX2, Isa::kAvx2, "this CPU has no AVX2 with FMA");
}

void sweep_attention(SweepTarget target, const AttentionProblem& problem,
                     const AttentionForward& forward) {
  run_forward(problem, forward, sweep::kernel_of(target, problem));
}

std::int64_t sweep_attention_workspace(SweepTarget target, const AttentionProblem& problem) {
  return forward_workspace(problem, sweep::kernel_of(target, problem));
}

}  // namespace heed::kernels
#endif
