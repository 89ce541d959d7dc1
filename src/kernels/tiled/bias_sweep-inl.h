// The gradient of a bias that has rows and keys of its own: the sweep over key blocks adds each
// tile's cotangents where they belong, so it costs no product. Where heads or batches share a bias,
// their tiles are added in the order of (batch, head), under tickets. Included once for each vector
// width.
#if defined(HEED_TILED_BIAS_SWEEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TILED_BIAS_SWEEP_INL_H_
#undef HEED_TILED_BIAS_SWEEP_INL_H_
#else
#define HEED_TILED_BIAS_SWEEP_INL_H_
#endif

#include <atomic>
#include <memory>

#include "kernels/tiled/backward_tile-inl.h"
#include "kernels/tiled/row_gradient-inl.h"
#include "kernels/turn.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

template <typename T>
class BiasSweep {
 public:
  explicit BiasSweep(const BackwardJob<T>& job) : job_(job), sums_(job.backward.dbias_sums) {
    const AttentionProblem& problem = job.problem;
    shared_ = (sums_[0] && problem.batch > 1) || (sums_[1] && problem.heads > 1);
    // Shared sums gather in dbias itself, which takes a type that they can gather in.
    used_ = job.backward.dbias.data != nullptr && !sums_[2] && !sums_[3] &&
            (!shared_ || job.backward.dbias.dtype == accumulator(problem));
    if (!used_) return;
    const std::int64_t matrices = batches() * heads();
    parallel_for(matrices, [&](std::int64_t matrix, int) {
      clear<T>(job.backward.dbias, matrix / heads(), matrix % heads(), 0, problem.query_length,
               problem.key_length);
    });
    if (shared_)
      turns_ = std::make_unique<std::atomic<std::int64_t>[]>(
          static_cast<std::size_t>(matrices * job.row_blocks * job.key_blocks));
  }

  bool used() const { return used_; }

  // Each tile of the sweep comes here once; `dscores` [keys][64] is null where nothing is visible.
  void add(const TilePlace& at, const T* dscores) {
    if (!used_) return;
    const Turn turn(shared_ ? &turns_[index(at)] : nullptr, rank(at));
    if (dscores == nullptr) return;
    const Output& to = job_.backward.dbias;
    T line[kKeys];
    for (std::int64_t i = 0; i < at.rows; ++i) {
      const std::int64_t offset = offset_of(to, at.batch, at.head, at.row + i) + at.key * to.column;
      for (std::int64_t j = 0; j < at.keys; ++j) line[j] = dscores[j * kRows + i];
      if (shared_) {
        const T* before = static_cast<const T*>(to.data) + offset;
        for (std::int64_t j = 0; j < at.keys; ++j) line[j] += before[j * to.column];
      }
      store_line(to, offset, at.keys, line);
    }
  }

 private:
  std::int64_t batches() const { return sums_[0] ? 1 : job_.problem.batch; }
  std::int64_t heads() const { return sums_[1] ? 1 : job_.problem.heads; }

  std::size_t index(const TilePlace& at) const {
    const std::int64_t matrix = (sums_[0] ? 0 : at.batch) * heads() + (sums_[1] ? 0 : at.head);
    const std::int64_t row_block = matrix * job_.row_blocks + at.row / kRows;
    return static_cast<std::size_t>(row_block * job_.key_blocks + at.key / kKeys);
  }

  // How many tiles are added to the same place before this one.
  std::int64_t rank(const TilePlace& at) const {
    std::int64_t earlier = 0;  // batches that reach as far
    for (std::int64_t b = 0; sums_[0] && b < at.batch; ++b) {
      const Sequence& sequence = job_.problem.sequences[b];
      if (sequence.query_length > at.row && sequence.key_length > at.key) ++earlier;
    }
    return sums_[1] ? earlier * job_.problem.heads + at.head : earlier;
  }

  const BackwardJob<T>& job_;
  const bool* sums_;
  bool shared_ = false;
  bool used_ = false;
  std::unique_ptr<std::atomic<std::int64_t>[]> turns_;
};

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_TILED_BIAS_SWEEP_INL_H_
