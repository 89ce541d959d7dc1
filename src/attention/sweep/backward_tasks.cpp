#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "attention/sweep/backward.h"
#include "attention/sweep/tasks.h"
#include "base/parallel.h"
#include "base/thread_memory.h"
#include "heed/threads.h"

namespace heed::kernels {
namespace {

// Not local to the function: a worker would then not register its destructor, and would leak the
// memory when it ends.
thread_local ThreadMemory thread_memory;

using Turns = std::unique_ptr<std::atomic<std::int64_t>[]>;

std::int64_t element_bytes(const AttentionProblem& problem) {
  return static_cast<std::int64_t>(size_bytes(accumulator(problem)));
}

// How tasks divide the keys of a key/value head. No result depends on it.
struct KeyTasks {
  std::int64_t group = 1;   // key blocks per sweep
  std::int64_t pieces = 1;  // tasks per head
};

KeyTasks key_tasks(const AttentionProblem& problem) {
  // A group reads and transposes a block of rows once for all its keys; the keys and their
  // gradients share the L2 cache with it.
  constexpr std::int64_t kBudget = std::int64_t{256} << 10;
  const std::int64_t columns = whole_lines(problem.head_dim) + whole_lines(problem.value_dim);
  const std::int64_t bytes = 2 * kTileKeys * columns * element_bytes(problem);
  const std::int64_t blocks = std::max<std::int64_t>(blocks_of(problem.key_length), 1);
  const int threads = threads_here();
  const std::int64_t heads = problem.batch * problem.kv_heads;
  KeyTasks tasks = {std::clamp<std::int64_t>(kBudget / std::max<std::int64_t>(bytes, 1), 1,
                                             std::min(kMostKeyBlocks, blocks))};
  if (threads == 1 || heads >= 4 * threads) return tasks;
  const auto groups = [&] { return (blocks + tasks.group - 1) / tasks.group; };
  while (tasks.group > 1 && heads * groups() < 4 * threads) --tasks.group;
  tasks.pieces = groups();
  return tasks;
}

std::int64_t dq_turn_count(const AttentionProblem& problem, std::int64_t pieces) {
  if (pieces == 1) return 0;
  return problem.batch * problem.heads * blocks_of(problem.query_length);
}

// Whether several heads or batches add to the same part of a dbias with these sums.
bool is_shared(const AttentionProblem& problem, const bool* sums) {
  return (sums[0] && problem.batch > 1) || (sums[1] && problem.heads > 1);
}

// One turn per tile of a shared bias that has both rows and keys.
std::int64_t bias_turn_count(const AttentionProblem& problem, const bool* sums) {
  if (!is_shared(problem, sums) || sums[2] || sums[3]) return 0;
  return (sums[0] ? 1 : problem.batch) * (sums[1] ? 1 : problem.heads) *
         blocks_of(problem.query_length) * blocks_of(problem.key_length);
}

bool rounds_later(const AttentionProblem& problem) {
  return problem.dtype != accumulator(problem) || problem.score.similarity == Similarity::kCosine;
}

// Writes zeros where no tile writes: gradients of rows and keys outside the sequence, and of rows
// without keys. Packed rows have no padding.
void clear_padding(const BackwardJob& job, std::int64_t b, std::int64_t g) {
  const AttentionProblem& problem = job.problem;
  const AttentionBackward& backward = job.backward;
  const Sequence& sequence = problem.sequences[b];
  const std::int64_t end = sequence.key_begin + sequence.key_length;
  if (!problem.packed_keys) {
    clear_rows(backward.dk, b, g, 0, sequence.key_begin, problem.head_dim);
    clear_rows(backward.dk, b, g, end, problem.key_length, problem.head_dim);
    clear_rows(backward.dv, b, g, 0, sequence.key_begin, problem.value_dim);
    clear_rows(backward.dv, b, g, end, problem.key_length, problem.value_dim);
  }
  const std::int64_t rows = sequence.key_length > 0 ? sequence.query_length : 0;
  for (std::int64_t h = g * job.group(); h < std::min((g + 1) * job.group(), problem.heads); ++h)
    clear_rows(job.dq, b, h, sequence.query_begin + rows,
               sequence.query_begin + query_room(problem, b), problem.head_dim);
}

class BackwardPass {
 public:
  BackwardPass(const AttentionProblem& problem, const AttentionBackward& backward,
               const WeightCotangents* observed, const BackwardKernel& kernel)
      : problem_(problem),
        kernel_(kernel),
        job_{problem, backward, observed},
        tasks_(key_tasks(problem)) {
    job_.key_group = tasks_.group;
    const bool* sums = backward.dbias_sums;
    // Shared sums are accumulated in dbias itself, if its type can hold them.
    job_.bias_in_sweep =
        backward.dbias.data != nullptr && !sums[2] && !sums[3] &&
        (!is_shared(problem, sums) || backward.dbias.dtype == accumulator(problem));
    bytes_ = kernel.bytes(job_);
  }

  void run() {
    prepare_rows();
    if (job_.wants_sweep()) sweep();
    if (job_.backward.dbias.data != nullptr && !job_.bias_in_sweep) bias_blocks();
  }

 private:
  // Runs each task with its own memory and with denormals off.
  template <typename Task>
  void in_tasks(std::int64_t count, const Task& task) const {
    parallel_for(count, [&](std::int64_t index, int) {
      const auto flush = flush_to_zero_in(accumulator(problem_));
      const LentMemory memory(thread_memory, bytes_);
      task(index, memory.get());
    });
  }

  std::int64_t heads() const { return problem_.batch * problem_.heads; }
  BlockPlace head_at(std::int64_t index) const {
    return {index / problem_.heads, index % problem_.heads};
  }

  void prepare_rows() {
    if (!job_.softmax()) return;
    delta_.reset(static_cast<char*>(::operator new[](
        std::max<std::int64_t>(lse_count(problem_) * element_bytes(problem_), 1))));
    job_.delta = delta_.get();
    if (job_.observed == nullptr)
      in_tasks(heads(), [&](std::int64_t head, void* memory) {
        kernel_.prepare_head(job_, head_at(head), memory);
      });
    else
      in_tasks(heads() * job_.row_blocks(), [&](std::int64_t task, void* memory) {
        BlockPlace at = head_at(task / job_.row_blocks());
        at.row_block = task % job_.row_blocks();
        kernel_.prepare_observed(job_, at, memory);
      });
    if (job_.backward.dsink != nullptr) sum_sinks();
  }

  double delta_at(std::int64_t index) const {
    return accumulator(problem_) == DType::kF64
               ? static_cast<const double*>(job_.delta)[index]
               : static_cast<double>(static_cast<const float*>(job_.delta)[index]);
  }
  LogSum lse_at(std::int64_t index) const {
    return accumulator(problem_) == DType::kF64 ? lse_of<double>(job_.backward, index)
                                                : lse_of<float>(job_.backward, index);
  }

  void sum_sinks() const {
    const double* sink = problem_.score.sink;
    for (std::int64_t h = 0; h < problem_.heads; ++h) {
      double sum = 0;
      for (std::int64_t b = 0; b < problem_.batch; ++b)
        for (std::int64_t i = 0; i < problem_.sequences[b].query_length; ++i) {
          if (sink == nullptr || sink[h] == -std::numeric_limits<double>::infinity()) continue;
          const std::int64_t at = lse_index(problem_, b, h, i);
          const double weight = std::exp(lse_at(at).below(sink[h]));
          sum += sink_share(job_, b, h, i) - weight * delta_at(at);
        }
      job_.backward.dsink[h] = sum;
    }
  }

  void sweep() {
    job_.dq = job_.backward.dq;
    ThreadMemory gathered;
    const bool later = job_.dq.data != nullptr &&
                       (rounds_later(problem_) || job_.dq.dtype != accumulator(problem_));
    if (later) {
      const std::int64_t width = whole_lines(problem_.head_dim);
      const std::int64_t bytes = lse_count(problem_) * width * element_bytes(problem_);
      job_.dq = query_rows(problem_, width, gathered.at_least(std::max<std::int64_t>(bytes, 1)));
    }
    const std::int64_t turns = dq_turn_count(problem_, tasks_.pieces);
    if (turns > 0) dq_turns_ = std::make_unique<std::atomic<std::int64_t>[]>(turns);
    job_.dq_turns = dq_turns_.get();
    if (job_.wants_sums()) sums_.resize(heads() * job_.key_blocks());
    job_.sums = job_.wants_sums() ? sums_.data() : nullptr;
    if (job_.bias_in_sweep) begin_bias();
    run_key_blocks();
    if (job_.wants_sums()) sum_heads();
    if (later)
      in_tasks(heads(), [&](std::int64_t head, void* memory) {
        kernel_.finish_head(job_, head_at(head), memory);
      });
  }

  void begin_bias() {
    const AttentionBackward& backward = job_.backward;
    const std::int64_t matrix_heads = backward.dbias_sums[1] ? 1 : problem_.heads;
    const std::int64_t matrices = (backward.dbias_sums[0] ? 1 : problem_.batch) * matrix_heads;
    parallel_for(matrices, [&](std::int64_t matrix, int) {
      clear_rows(backward.dbias, matrix / matrix_heads, matrix % matrix_heads, 0,
                 problem_.query_length, problem_.key_length);
    });
    const std::int64_t turns = bias_turn_count(problem_, backward.dbias_sums);
    if (turns > 0) bias_turns_ = std::make_unique<std::atomic<std::int64_t>[]>(turns);
    job_.bias_turns = bias_turns_.get();
  }

  // Tasks start in ascending order, so a group of keys waits only for groups that have begun.
  void run_key_blocks() const {
    const auto [group, pieces] = tasks_;
    in_tasks(problem_.batch * problem_.kv_heads * pieces, [&](std::int64_t task, void* memory) {
      const std::int64_t head = task / pieces;
      BlockPlace at = {head / problem_.kv_heads, head % problem_.kv_heads};
      const std::int64_t piece = task % pieces;
      if (piece == 0) clear_padding(job_, at.batch, at.head);
      const std::int64_t blocks = blocks_of(problem_.sequences[at.batch].key_length);
      const std::int64_t end = pieces == 1 ? blocks : std::min((piece + 1) * group, blocks);
      for (at.key_block = piece * group; at.key_block < end; at.key_block += group)
        kernel_.key_group(job_, at, memory);
    });
  }

  // Sums over all tiles of a head, in order.
  void sum_heads() const {
    const std::int64_t blocks = job_.key_blocks();
    for (std::int64_t h = 0; h < problem_.heads; ++h) {
      TileSums total;
      for (std::int64_t b = 0; b < problem_.batch; ++b)
        for (std::int64_t block = 0; block < blocks; ++block) {
          const TileSums& one = sums_[(b * problem_.heads + h) * blocks + block];
          total = {total.slope + one.slope, total.scale + one.scale};
        }
      if (job_.backward.dslope != nullptr) job_.backward.dslope[h] = total.slope;
      if (job_.backward.dscale != nullptr) job_.backward.dscale[h] = total.scale;
    }
  }

  void bias_blocks() const {
    const bool* sums = job_.backward.dbias_sums;
    const std::int64_t batches = sums[0] ? 1 : problem_.batch;
    const std::int64_t matrix_heads = sums[1] ? 1 : problem_.heads;
    const std::int64_t row_blocks = sums[2] ? 1 : job_.row_blocks();
    const std::int64_t key_blocks = sums[3] ? 1 : job_.key_blocks();
    in_tasks(batches * matrix_heads * row_blocks * key_blocks,
             [&](std::int64_t task, void* memory) {
               const std::int64_t head = task / key_blocks / row_blocks;
               kernel_.bias_block(job_,
                                  {head / matrix_heads, head % matrix_heads,
                                   task / key_blocks % row_blocks, task % key_blocks},
                                  memory);
             });
  }

  const AttentionProblem& problem_;
  const BackwardKernel& kernel_;
  BackwardJob job_;
  const KeyTasks tasks_;  // computed once, because another thread may set the number of threads
  std::int64_t bytes_ = 0;
  std::unique_ptr<char[]> delta_;
  std::vector<TileSums> sums_;
  Turns dq_turns_;
  Turns bias_turns_;
};

}  // namespace

double sink_share(const BackwardJob& job, std::int64_t b, std::int64_t h, std::int64_t row) {
  const AttentionProblem& problem = job.problem;
  const double* sink = problem.score.sink;
  if (job.observed == nullptr || job.observed->entropy == nullptr || sink == nullptr ||
      sink[h] == -std::numeric_limits<double>::infinity())
    return 0;
  const std::int64_t at = lse_index(problem, b, h, row);
  const std::int64_t row_at = (b * problem.heads + h) * problem.query_length + row;
  const bool is_f64 = accumulator(problem) == DType::kF64;
  const LogSum lse = is_f64 ? lse_of<double>(job.backward, at) : lse_of<float>(job.backward, at);
  const double log_weight = lse.below(sink[h]);
  const double weight = std::exp(log_weight);
  if (weight == 0) return 0;
  const double change =
      is_f64 ? static_cast<const double*>(job.observed->entropy)[row_at]
             : static_cast<double>(static_cast<const float*>(job.observed->entropy)[row_at]);
  return -weight * change * log_weight;
}

std::int64_t backward_workspace(const AttentionProblem& problem, const BackwardKernel& kernel) {
  const AttentionBackward nothing;
  const KeyTasks tasks = key_tasks(problem);
  BackwardJob job = {problem, nothing};
  job.key_group = tasks.group;
  const Input& bias = problem.score.bias;
  const bool sums[4] = {bias.batch == 0, bias.head == 0, bias.row == 0, bias.column == 0};
  const std::int64_t turns = dq_turn_count(problem, tasks.pieces) +
                             (bias.data != nullptr ? bias_turn_count(problem, sums) : 0);
  const std::int64_t columns = 1 + (rounds_later(problem) ? whole_lines(problem.head_dim) : 0);
  return kernel.bytes(job) * thread_count() + turns * std::int64_t{sizeof(std::int64_t)} +
         problem.batch * problem.heads * job.key_blocks() * std::int64_t{sizeof(TileSums)} +
         lse_count(problem) * element_bytes(problem) * columns;
}

void run_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                  const WeightCotangents* observed, const BackwardKernel& kernel) {
  const std::optional<SerialScope> alone = alone_if_short(problem);
  BackwardPass(problem, backward, observed, kernel).run();
}

}  // namespace heed::kernels
