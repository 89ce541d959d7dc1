// The gradient of a bias that is broadcast over rows or keys: a sweep of its own, in which a task
// owns a block of dbias and visits every tile that adds to it, in order. That costs two products
// more, and needs neither a [Tq, Tk] temporary nor waiting, and gives the same bits for any number
// of threads. Included once for each vector width.
#if defined(HEED_TILED_BIAS_GRADIENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TILED_BIAS_GRADIENT_INL_H_
#undef HEED_TILED_BIAS_GRADIENT_INL_H_
#else
#define HEED_TILED_BIAS_GRADIENT_INL_H_
#endif

#include "base/parallel.h"
#include "kernels/tiled/backward_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// Indices [begin, end) of one axis: all where dbias is summed over it, else one.
struct Stretch {
  std::int64_t begin;
  std::int64_t end;

  Stretch(bool summed, std::int64_t index, std::int64_t count)
      : begin(summed ? 0 : index), end(summed ? count : index + 1) {}
};

template <typename T>
class BiasBlock {
 public:
  BiasBlock(const BackwardJob<T>& job, BackwardScratch<T>& scratch)
      : job_(job), scratch_(scratch), sums_(job.backward.dbias_sums) {}

  void run(std::int64_t b, std::int64_t h, std::int64_t row_block, std::int64_t key_block) {
    const AttentionProblem& problem = job_.problem;
    std::fill(std::begin(total_), std::end(total_), 0.0);
    const Stretch batches(sums_[0], b, problem.batch);
    const Stretch heads(sums_[1], h, problem.heads);
    const Stretch rows(sums_[2], row_block, job_.row_blocks);
    const Stretch keys(sums_[3], key_block, job_.key_blocks);
    for (std::int64_t at_b = batches.begin; at_b < batches.end; ++at_b)
      for (std::int64_t at_h = heads.begin; at_h < heads.end; ++at_h)
        for (std::int64_t row = rows.begin; row < rows.end; ++row)
          for (std::int64_t key = keys.begin; key < keys.end; ++key)
            add(at_b, at_h, row * kRows, key * kKeys);
    store(b, h, row_block * kRows, key_block * kKeys);
  }

 private:
  void add(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t key) {
    const Sequence& sequence = job_.problem.sequences[b];
    const TilePlace at = {b,   h,
                          row, std::min(kRows, sequence.query_length - row),
                          key, std::min(kKeys, sequence.key_length - key)};
    if (at.rows <= 0 || at.keys <= 0) return;
    scratch_.mask.look(job_.problem, at);
    if (scratch_.mask.empty()) return;
    load_row_block(job_, at, scratch_);
    load_key_block(job_, at, scratch_);
    differentiate(job_, at, scratch_);
    for (std::int64_t j = 0; j < at.keys; ++j)
      for (std::int64_t i = 0; i < at.rows; ++i)
        total_[(sums_[3] ? 0 : j) * kRows + (sums_[2] ? 0 : i)] +=
            static_cast<double>(scratch_.dscores.get()[j * kRows + i]);
  }

  void store(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t key) const {
    const Output& to = job_.backward.dbias;
    const std::int64_t rows = sums_[2] ? 1 : std::min(kRows, job_.problem.query_length - row);
    const std::int64_t keys = sums_[3] ? 1 : std::min(kKeys, job_.problem.key_length - key);
    double line[kKeys];
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < keys; ++j) line[j] = total_[j * kRows + i];
      store_line(to, offset_of(to, b, h, row + i) + key * to.column, keys, line);
    }
  }

  const BackwardJob<T>& job_;
  BackwardScratch<T>& scratch_;
  const bool* sums_;
  double total_[kKeys * kRows];
};

template <typename T>
void bias_gradient(const BackwardJob<T>& job, std::vector<BackwardScratch<T>>& scratch) {
  const AttentionProblem& problem = job.problem;
  const bool* sums = job.backward.dbias_sums;
  const std::int64_t batches = sums[0] ? 1 : problem.batch;
  const std::int64_t heads = sums[1] ? 1 : problem.heads;
  const std::int64_t row_blocks = sums[2] ? 1 : job.row_blocks;
  const std::int64_t key_blocks = sums[3] ? 1 : job.key_blocks;
  const auto threads = static_cast<int>(std::ssize(scratch));
  parallel_for(batches * heads * row_blocks * key_blocks, threads,
               [&](std::int64_t task, int thread) {
                 const std::int64_t key_block = task % key_blocks;
                 const std::int64_t row_block = task / key_blocks % row_blocks;
                 const std::int64_t head = task / key_blocks / row_blocks;
                 BiasBlock<T>(job, scratch[static_cast<std::size_t>(thread)])
                     .run(head / heads, head % heads, row_block, key_block);
               });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_TILED_BIAS_GRADIENT_INL_H_
