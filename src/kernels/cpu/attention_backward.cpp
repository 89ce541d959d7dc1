// The gradients of exact attention in f32.
#include "kernels/cpu/attention.h"

// The same targets as the forward pass, and for the same reason (attention.cpp).
#include "hwy/detect_targets.h"
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_backward.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
#include "kernels/cpu/attention_backward-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {

void run_key_block(const AttentionProblem& problem, const AttentionBackward& backward,
                   const KeyBlock& block, BackwardScratch& scratch) {
  key_block_backward(problem, backward, block, scratch);
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#include "kernels/cpu/attention_backward_tasks.h"

namespace heed::kernels {

void avx512_attention_backward(const AttentionProblem& problem, const AttentionBackward& backward) {
  run_backward_tasks(problem, backward, cpu::N_AVX3::run_key_block);
}

void avx2_attention_backward(const AttentionProblem& problem, const AttentionBackward& backward) {
  run_backward_tasks(problem, backward, cpu::N_AVX2::run_key_block);
}

}  // namespace heed::kernels
#endif
