#include "kernels/cpu/attention_tasks.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "base/float_mode.h"
#include "base/parallel.h"
#include "heed/base/threads.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/thread_memory.h"
#include "kernels/short_problem.h"

namespace heed::kernels {
namespace {

thread_local ThreadMemory thread_memory;

struct Task {
  RowBlock block;
  std::int64_t cost = 0;
};

/// An upper bound of the pairs that the mask leaves: whole tiles count.
std::int64_t cost_of(const AttentionProblem& problem, const RowBlock& block) {
  const std::int64_t length = problem.sequences[block.batch].key_length;
  const std::int64_t chunk = std::max<std::int64_t>((length + 15) / 16, 1);
  std::int64_t keys = 0;
  RowTile rows;
  for (std::int64_t row = block.row_begin; row < block.row_end; row += kTileRows) {
    set_segments(problem, block, row, rows);
    for (std::int64_t key = 0; key < length; key += chunk)
      if (classify(problem, block.batch, rows, key, std::min(key + chunk, length)) !=
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

/// Rows past the sequence's own: out 0, lse -inf.
void write_padding(const AttentionProblem& problem, const AttentionForward& forward) {
  for (std::int64_t b = 0; b < problem.batch; ++b)
    for (std::int64_t h = 0; h < problem.heads; ++h)
      for (std::int64_t i = problem.sequences[b].query_length; i < query_room(problem, b); ++i) {
        const std::int64_t at = lse_index(problem, b, h, i);
        static_cast<float*>(forward.lse)[at] = -std::numeric_limits<float>::infinity();
        static_cast<float*>(forward.lse_low)[at] = 0;
        clear_rows(forward.out, b, h, i, i + 1, problem.value_dim);
        clear_rows(forward.out_low, b, h, i, i + 1, problem.value_dim);
      }
}

}  // namespace

std::int64_t simd_attention_workspace(const AttentionProblem& problem) {
  return TileSizes(problem).bytes * thread_count();
}

void run_tasks(const AttentionProblem& problem, const AttentionForward& forward,
               BlockKernel kernel) {
  write_padding(problem, forward);
  const TileSizes sizes(problem);
  std::int64_t block_rows = sizes.tiles * kTileRows;
  std::vector<Task> tasks = tasks_of(problem, block_rows);
  const std::optional<SerialScope> alone = alone_if_short(problem);
  const int threads = threads_here();
  if (threads > 1) {
    // A row tile's arithmetic does not depend on its block: smaller blocks give the same bits.
    while (std::ssize(tasks) < 4 * threads && block_rows > kTileRows) {
      block_rows = std::max(block_rows / 2, kTileRows);
      tasks = tasks_of(problem, block_rows);
    }
    for (Task& task : tasks) task.cost = cost_of(problem, task.block);
    std::ranges::stable_sort(tasks, std::greater{}, &Task::cost);
  }
  parallel_for(std::ssize(tasks), [&](std::int64_t index, int) {
    const FlushToZero flush;
    const LentMemory memory(thread_memory, sizes.bytes);
    TileScratch scratch(sizes, memory.get());
    kernel(problem, forward, tasks[index].block, scratch);
  });
}

}  // namespace heed::kernels
