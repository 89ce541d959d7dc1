// Exact attention, forward, computed in f32 (Dao et al. 2022, algorithm 1, with the rows in the
// lanes).
#include "kernels/cpu/attention.h"

// Without AVX2 the tiled kernel serves: g++ 12.2 has no 128-bit fallback with shuffles.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
#include "kernels/cpu/attention_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {

void run_block(const AttentionProblem& problem, const AttentionForward& forward,
               const RowBlock& block, TileScratch& scratch) {
  attention_block(problem, forward, block, scratch);
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#include "base/isa.h"
#include "kernels/cpu/attention_tasks.h"

namespace heed::kernels {
namespace {

std::string refusal(const AttentionProblem& problem, std::int64_t target, Isa isa,
                    const char* needs) {
  for (const DType dtype :
       {problem.dtype, problem.k.dtype, problem.v.dtype, problem.score.bias.dtype})
    if (dtype == DType::kF64) return "it computes in f32 only";
  if (allowed_isa() < isa) return "HEED_ISA allows narrower vectors only";
  if ((highway_targets() & target) == 0) return needs;
  return {};
}

}  // namespace

std::string avx512_attention_refusal(const AttentionProblem& problem) {
  return refusal(problem, HWY_AVX3, Isa::kAvx512, "this CPU has no AVX-512 (F, BW, CD, DQ, VL)");
}

std::string avx2_attention_refusal(const AttentionProblem& problem) {
  return refusal(problem, HWY_AVX2, Isa::kAvx2, "this CPU has no AVX2 with FMA");
}

void avx512_attention(const AttentionProblem& problem, const AttentionForward& forward) {
  run_tasks(problem, forward, cpu::N_AVX3::run_block);
}

void avx2_attention(const AttentionProblem& problem, const AttentionForward& forward) {
  run_tasks(problem, forward, cpu::N_AVX2::run_block);
}

}  // namespace heed::kernels
#endif
