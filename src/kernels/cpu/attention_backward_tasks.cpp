#include "kernels/cpu/attention_backward_tasks.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/float_mode.h"
#include "base/parallel.h"
#include "heed/base/threads.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/thread_memory.h"
#include "kernels/short_problem.h"

namespace heed::kernels {
namespace {

constexpr std::int64_t kLine = 16;  // floats; the widest vector
constexpr std::int64_t kStripKeys = 6;

std::int64_t whole_lines(std::int64_t floats) { return (floats + kLine - 1) / kLine * kLine; }

std::int64_t blocks_of(std::int64_t length) { return (length + kTileRows - 1) / kTileRows; }

// A task is a (batch, key/value head) where there are enough of them, else one of its key blocks.
std::int64_t pieces_of(const AttentionProblem& problem) {
  const int threads = threads_here();
  const bool enough = problem.batch * problem.kv_heads >= 4 * threads;
  return enough || threads == 1 ? 1 : std::max<std::int64_t>(blocks_of(problem.key_length), 1);
}

std::int64_t turn_count(const AttentionProblem& problem, std::int64_t pieces) {
  if (pieces == 1) return 0;
  return problem.batch * problem.heads * blocks_of(problem.query_length);
}

// What no tile writes: gradients of rows and keys outside of the sequence, and of rows without
// keys. Packed rows have no room around their sequences.
void clear_padding(const AttentionProblem& problem, const AttentionBackward& backward,
                   std::int64_t b, std::int64_t g) {
  const Sequence& sequence = problem.sequences[b];
  const std::int64_t end = sequence.key_begin + sequence.key_length;
  if (!problem.packed_keys) {
    clear_rows(backward.dk, b, g, 0, sequence.key_begin, problem.head_dim);
    clear_rows(backward.dk, b, g, end, problem.key_length, problem.head_dim);
    clear_rows(backward.dv, b, g, 0, sequence.key_begin, problem.value_dim);
    clear_rows(backward.dv, b, g, end, problem.key_length, problem.value_dim);
  }
  const std::int64_t rows = sequence.key_length > 0 ? sequence.query_length : 0;
  const std::int64_t group = problem.heads / problem.kv_heads;
  for (std::int64_t h = g * group; h < (g + 1) * group; ++h)
    clear_rows(backward.dq, b, h, sequence.query_begin + rows,
               sequence.query_begin + query_room(problem, b), problem.head_dim);
}

}  // namespace

BackwardScratch::BackwardScratch(const AttentionProblem& problem)
    : width(whole_lines(problem.head_dim)), value_width(whole_lines(problem.value_dim)) {
  const std::int64_t floats =
      kTileRows * (5 * width + 5 * value_width + 3 + kTileKeys) + kStripKeys * kTileRows;
  bytes = floats * std::int64_t{sizeof(float)};
}

void BackwardScratch::place(float* memory) {
  const auto take = [&memory](std::int64_t floats) {
    float* const taken = memory;
    memory += floats;
    return taken;
  };
  for (float** part : {&k, &dk, &queries, &query_rows, &dq}) *part = take(kTileRows * width);
  for (float** part : {&v, &dv, &dout, &dout_rows, &out_rows})
    *part = take(kTileRows * value_width);
  for (float** part : {&lse, &lse_low, &delta}) *part = take(kTileRows);
  weights = take(kStripKeys * kTileRows);
  dscores = take(kTileKeys * kTileRows);
}

std::int64_t simd_attention_backward_workspace(const AttentionProblem& problem) {
  const std::int64_t gathered =
      problem.dtype == DType::kF32 ? 0 : lse_count(problem) * whole_lines(problem.head_dim);
  return BackwardScratch(problem).bytes * thread_count() +
         turn_count(problem, pieces_of(problem)) * std::int64_t{sizeof(std::int64_t)} +
         gathered * std::int64_t{sizeof(float)};
}

namespace {

// Not local to the function: a worker would use it without registering its destructor, and leak the
// memory when it ends.
thread_local ThreadMemory thread_memory;

void run_key_blocks(const AttentionProblem& problem, const AttentionBackward& backward,
                    KeyBlockKernel kernel) {
  const BackwardScratch sizes(problem);
  const std::int64_t pieces = pieces_of(problem);
  const std::int64_t turns = turn_count(problem, pieces);
  const auto next = turns == 0 ? nullptr : std::make_unique<std::atomic<std::int64_t>[]>(turns);
  const std::int64_t row_blocks = blocks_of(problem.query_length);
  // Rising indices mean that a key block waits only for blocks that have begun.
  parallel_for(problem.batch * problem.kv_heads * pieces, [&](std::int64_t task, int) {
    const FlushToZero flush;
    BackwardScratch scratch = sizes;
    const LentMemory memory(thread_memory, sizes.bytes);
    scratch.place(memory.get());
    const std::int64_t head = task / pieces;
    KeyBlock block = {.batch = head / problem.kv_heads, .kv_head = head % problem.kv_heads};
    const std::int64_t group = problem.heads / problem.kv_heads;
    if (next) block.turns = &next[head * group * row_blocks];
    const std::int64_t piece = task % pieces;
    if (piece == 0) clear_padding(problem, backward, block.batch, block.kv_head);
    const std::int64_t length = problem.sequences[block.batch].key_length;
    const std::int64_t blocks = blocks_of(length);
    const std::int64_t end = pieces == 1 ? blocks : std::min(piece + 1, blocks);
    for (block.index = piece; block.index < end; ++block.index) {
      block.begin = block.index * kTileKeys;
      block.count = std::min(kTileKeys, length - block.begin);
      kernel(problem, backward, block, scratch);
    }
  });
}

}  // namespace

void run_backward_tasks(const AttentionProblem& problem, const AttentionBackward& backward,
                        const BackwardKernel& kernel) {
  const std::optional<SerialScope> alone = alone_if_short(problem);
  if (backward.dq.data == nullptr || backward.dq.dtype == DType::kF32) {
    run_key_blocks(problem, backward, kernel.key_block);
    return;
  }
  // dQ gathers in f32 and is rounded once.
  const std::int64_t width = whole_lines(problem.head_dim);
  ThreadMemory memory;
  AttentionBackward gathering = backward;
  gathering.dq = query_rows(
      problem, width, memory.at_least(lse_count(problem) * width * std::int64_t{sizeof(float)}));
  run_key_blocks(problem, gathering, kernel.key_block);
  parallel_for(problem.batch * problem.heads, [&](std::int64_t task, int) {
    kernel.round_rows(problem, gathering.dq, task / problem.heads, task % problem.heads,
                      backward.dq);
  });
}

}  // namespace heed::kernels
