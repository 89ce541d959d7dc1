#include "attention/sweep/tasks.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "base/parallel.h"
#include "base/thread_memory.h"
#include "heed/threads.h"

namespace heed::kernels {
namespace {

thread_local ThreadMemory thread_memory;

struct Task {
  RowBlock block;
  std::int64_t cost = 0;
};

/// An upper bound of the visible pairs: partial tiles count as full.
std::int64_t cost_of(const AttentionProblem& problem, const RowBlock& block) {
  const std::int64_t length = problem.sequences[block.batch].key_length;
  const std::int64_t chunk = std::max<std::int64_t>((length + 15) / 16, 1);
  std::int64_t keys = 0;
  RowSet rows;
  for (std::int64_t row = block.row_begin; row < block.row_end; row += kTileRows) {
    set_rows(problem, block, row, rows);
    for (std::int64_t key = 0; key < length; key += chunk)
      if (classify(problem, block.batch, rows, {key, std::min(key + chunk, length)}) !=
          TileClass::kEmpty)
        keys += chunk;
  }
  return keys;
}

std::vector<Task> tasks_of(const AttentionProblem& problem, std::int64_t block_rows) {
  std::vector<Task> tasks;
  if (problem.heads == 0) return tasks;
  const std::int64_t group = problem.heads / problem.kv_heads;
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    const std::int64_t rows = group * problem.sequences[b].query_length;
    for (std::int64_t g = 0; g < problem.kv_heads; ++g)
      for (std::int64_t row = 0; row < rows; row += block_rows)
        tasks.push_back({{b, g, row, std::min(row + block_rows, rows)}});
  }
  return tasks;
}

/// Rows past the end of the sequence: out 0, lse -inf.
template <typename T>
void write_padding(const AttentionProblem& problem, const AttentionForward& forward) {
  for (std::int64_t b = 0; b < problem.batch; ++b)
    for (std::int64_t h = 0; h < problem.heads; ++h)
      for (std::int64_t i = problem.sequences[b].query_length; i < query_room(problem, b); ++i) {
        if (forward.lse != nullptr) {
          const std::int64_t at = lse_index(problem, b, h, i);
          static_cast<T*>(forward.lse)[at] = -std::numeric_limits<T>::infinity();
          static_cast<T*>(forward.lse_low)[at] = 0;
        }
        clear_rows(forward.out, b, h, i, i + 1, problem.value_dim);
        clear_rows(forward.out_low, b, h, i, i + 1, problem.value_dim);
      }
}

std::int64_t largest_block(const AttentionProblem& problem) {
  std::int64_t rows = 0;
  for (std::int64_t b = 0; b < problem.batch; ++b)
    rows = std::max(rows, problem.sequences[b].query_length);
  const std::int64_t group = problem.kv_heads > 0 ? problem.heads / problem.kv_heads : 0;
  return std::max<std::int64_t>(blocks_of(rows * group), 1);
}

/// Row tiles per block: at most the problem's, and at most a megabyte.
std::int64_t tiles_of(const AttentionProblem& problem, const ForwardKernel& kernel) {
  constexpr std::int64_t kBudget = std::int64_t{1} << 20;
  std::int64_t tiles = std::min(kMaxTiles, largest_block(problem));
  while (tiles > 1 && kernel.bytes(problem, tiles) > kBudget) --tiles;
  return tiles;
}

}  // namespace

std::int64_t forward_workspace(const AttentionProblem& problem, const ForwardKernel& kernel) {
  return kernel.bytes(problem, tiles_of(problem, kernel)) * thread_count();
}

void run_forward(const AttentionProblem& problem, const AttentionForward& forward,
                 const ForwardKernel& kernel) {
  const bool is_f64 = accumulator(problem) == DType::kF64;
  if (is_f64)
    write_padding<double>(problem, forward);
  else
    write_padding<float>(problem, forward);
  const std::int64_t tiles = tiles_of(problem, kernel);
  const std::int64_t bytes = kernel.bytes(problem, tiles);
  std::int64_t block_rows = tiles * kTileRows;
  std::vector<Task> tasks = tasks_of(problem, block_rows);
  const std::optional<SerialScope> alone = alone_if_short(problem);
  const int threads = threads_here();
  if (threads > 1) {
    // A row tile's arithmetic does not depend on its block, so smaller blocks give the same bits.
    while (std::ssize(tasks) < 4 * threads && block_rows > kTileRows) {
      block_rows = std::max(block_rows / 2, kTileRows);
      tasks = tasks_of(problem, block_rows);
    }
    for (Task& task : tasks) {
      task.cost = cost_of(problem, task.block);
      task.block.heads_ahead = threads;
    }
    std::ranges::stable_sort(tasks, std::greater{}, &Task::cost);
  }
  parallel_for(std::ssize(tasks), [&](std::int64_t index, int) {
    const auto flush = flush_to_zero_in(accumulator(problem));
    const LentMemory memory(thread_memory, bytes);
    kernel.run(problem, forward, tasks[index].block, tiles, memory.get());
  });
}

}  // namespace heed::kernels
