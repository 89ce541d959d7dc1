// Recomputed attention weights: compiled for each instruction set and chosen at run time.
#include "attention/sweep/weights.h"

#include "hwy/aligned_allocator.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/sweep/weights.cpp"
#include "hwy/foreach_target.h"
#include "attention/sweep/weights-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

template <typename T>
void run_weights(const AttentionProblem& problem, const WeightRows& rows, const WantsKeys& wants,
                 const UseTile& use) {
  Arena counted;
  WeightScratch<T>(problem, counted);
  const auto memory = hwy::AllocateAligned<char>(static_cast<std::size_t>(counted.bytes()));
  Arena arena(memory.get());
  WeightTask<T> task = {problem, WeightScratch<T>(problem, arena), Steps(problem), {}, {}};
  weights_of_keys(rows, wants, use, task);
}

void weights_of_rows(const AttentionProblem& problem, const WeightRows& rows,
                     const WantsKeys& wants, const UseTile& use) {
  if (accumulator(problem) == DType::kF64)
    run_weights<double>(problem, rows, wants, use);
  else
    run_weights<float>(problem, rows, wants, use);
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace sweep {
namespace {

HWY_EXPORT(weights_of_rows);

void weights_of_chosen_target(const AttentionProblem& problem, const WeightRows& rows,
                              const WantsKeys& wants, const UseTile& use) {
  HWY_DYNAMIC_DISPATCH(weights_of_rows)(problem, rows, wants, use);
}

}  // namespace
}  // namespace sweep

void sweep_weights(const AttentionProblem& problem, const WeightRows& rows, const WantsKeys& wants,
                   const UseTile& use) {
  sweep::weights_of_chosen_target(problem, rows, wants, use);
}

}  // namespace heed::kernels
#endif
