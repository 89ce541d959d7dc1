// The gradients of exact attention in f32.
#include "kernels/cpu/attention.h"

// The same targets as the forward pass, and for the same reason (sweep/forward.cpp).
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

void round_rows(const AttentionProblem& problem, const Output& gathered, std::int64_t batch,
                std::int64_t head, const Output& dq) {
  const std::int64_t first = problem.sequences[batch].query_begin;
  const Output from = rows_at(gathered, batch, head, first);
  const Output to = rows_at(dq, batch, head, first);
  for (std::int64_t row = 0; row < query_room(problem, batch); ++row)
    write_row(static_cast<const float*>(from.data) + row * from.row, 1, problem.head_dim, row, to);
}

}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#include "kernels/cpu/attention_backward_tasks.h"

namespace heed::kernels {

void avx512_attention_backward(const AttentionProblem& problem, const AttentionBackward& backward) {
  run_backward_tasks(problem, backward, {cpu::N_AVX3::run_key_block, cpu::N_AVX3::round_rows});
}

void avx2_attention_backward(const AttentionProblem& problem, const AttentionBackward& backward) {
  run_backward_tasks(problem, backward, {cpu::N_AVX2::run_key_block, cpu::N_AVX2::round_rows});
}

}  // namespace heed::kernels
#endif
