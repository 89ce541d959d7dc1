// The gradients of exact attention, for every legal form, compiled for each instruction set.
#include "attention/sweep/backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/sweep/backward.cpp"
#include "hwy/foreach_target.h"
#include "attention/sweep/backward_blocks-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

template <typename T>
std::int64_t backward_bytes(const BackwardJob& job) {
  Arena arena;
  BackwardScratch<T>(job, arena);
  return arena.bytes();
}

template <typename T>
void bias_block(const BackwardJob& job, const BlockPlace& at, void* memory) {
  BiasBlock<T>(job, memory).run(at);
}

template <typename T>
BackwardKernel kernel_in() {
  return {backward_bytes<T>,     prepare_head<T>, prepare_observed<T>,
          key_group_backward<T>, bias_block<T>,   finish_head<T>};
}

BackwardKernel backward_kernel(DType accumulator) {
  return accumulator == DType::kF64 ? kernel_in<double>() : kernel_in<float>();
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace sweep {
namespace {

HWY_EXPORT(backward_kernel);

BackwardKernel best_kernel(const AttentionProblem& problem) {
  return HWY_DYNAMIC_DISPATCH(backward_kernel)(accumulator(problem));
}

BackwardKernel kernel_of([[maybe_unused]] SweepTarget target, const AttentionProblem& problem) {
#if HWY_TARGETS & HWY_AVX3
  if (target == SweepTarget::kAvx512) return N_AVX3::backward_kernel(accumulator(problem));
#endif
#if HWY_TARGETS & HWY_AVX2
  if (target == SweepTarget::kAvx2) return N_AVX2::backward_kernel(accumulator(problem));
#endif
  return HWY_STATIC_DISPATCH(backward_kernel)(accumulator(problem));
}

}  // namespace
}  // namespace sweep

void sweep_attention_backward(SweepTarget target, const AttentionProblem& problem,
                              const AttentionBackward& backward) {
  run_backward(problem, backward, nullptr, sweep::kernel_of(target, problem));
}

std::int64_t sweep_attention_backward_workspace(SweepTarget target,
                                                const AttentionProblem& problem) {
  return backward_workspace(problem, sweep::kernel_of(target, problem));
}

void sweep_observe_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                            const WeightCotangents& cotangents) {
  run_backward(problem, backward, &cotangents, sweep::best_kernel(problem));
}

}  // namespace heed::kernels
#endif
