// The f32 matrix product by AMX: panels of both operands, then blocks of 32 x 32 (amx_tiles.h).
//
// An element is the sum over k in one order, whatever the rows, columns and threads.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "heed/base/threads.h"
#include "kernels/cpu/amx_tiles.h"
#include "kernels/cpu/thread_memory.h"
#include "kernels/matmul.h"

namespace heed::kernels {
namespace {

// A part of b, 1.5 MiB once it is cut, stays in a second-level cache of 2 MiB.
constexpr std::int64_t kMostColumns = 512;
constexpr std::int64_t kMostDepth = 512;
constexpr std::int64_t kLeast = 16;  // below, cutting costs more than tiles gain

// Not local to the function: see attention_backward_tasks.cpp.
thread_local ThreadMemory columns_memory;
thread_local ThreadMemory rows_memory;

amx::Part* panels_in(ThreadMemory& memory, std::int64_t panels, std::int64_t steps) {
  const std::int64_t parts = panels * steps * amx::kStep;
  return reinterpret_cast<amx::Part*>(
      memory.at_least(parts * static_cast<std::int64_t>(sizeof(amx::Part))));
}

bool has_instructions() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kAmxBf16 = 1U << 22;
  constexpr unsigned kAmxTile = 1U << 24;
  return (d & kAmxBf16) != 0 && (d & kAmxTile) != 0 && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0;
}

// Linux gives a process tile registers when it asks (Documentation/arch/x86/xstate.rst).
bool has_permission() {
  constexpr long kAskForState = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
}

bool has_amx() {
  static const bool has = has_instructions() && has_permission();
  return has;
}

MatmulProblem<float> rows_of(MatmulProblem<float> p, std::int64_t first, std::int64_t count) {
  p.rows = count;
  p.a.data += first * p.a.row;
  p.out += first * p.out_row;
  return p;
}

// Some columns and a part of the depth.
MatmulProblem<float> part_of(MatmulProblem<float> p, std::int64_t column, std::int64_t depth) {
  p.columns = std::min(kMostColumns, p.columns - column);
  p.inner = std::min(kMostDepth, p.inner - depth);
  p.a.data += depth * p.a.column;
  p.b.data += depth * p.b.row + column * p.b.column;
  p.out += column;
  p.accumulate = p.accumulate || depth > 0;
  p.bias = p.bias != nullptr && depth == 0 ? p.bias + column : nullptr;
  return p;
}

// False: b holds a number that cannot be cut.
bool cut_columns(const MatmulProblem<float>& p, amx::Part* to) {
  std::atomic<bool> good = true;
  const std::int64_t panel = amx::steps_of(p.inner) * amx::kStep;
  parallel_for((p.columns + amx::kLines - 1) / amx::kLines, [&](std::int64_t index, int) {
    const std::int64_t column = index * amx::kLines;
    const amx::Lines lines = {.data = p.b.data + column * p.b.column,
                              .line = p.b.column,
                              .depth = p.b.row,
                              .count = std::min(amx::kLines, p.columns - column),
                              .length = p.inner};
    if (!amx::cut_panel(lines, amx::TileRows::kPair, to + index * panel)) good = false;
  });
  return good;
}

// At most 32 rows.
void run_rows(const MatmulProblem<float>& p, const amx::Part* b) {
  const std::int64_t steps = amx::steps_of(p.inner);
  amx::Part* const a = panels_in(rows_memory, 1, steps);
  const amx::Lines lines = {
      .data = p.a.data, .line = p.a.row, .depth = p.a.column, .count = p.rows, .length = p.inner};
  if (!amx::cut_panel(lines, amx::TileRows::kLine, a)) return matmul_onednn(p);
  const amx::Tiles tiles;
  for (std::int64_t column = 0; column < p.columns; column += amx::kLines)
    amx::multiply({.a = a,
                   .b = b + column / amx::kLines * steps * amx::kStep,
                   .steps = steps,
                   .out = p.out + column,
                   .out_row = p.out_row,
                   .rows = p.rows,
                   .columns = std::min(amx::kLines, p.columns - column),
                   .bias = p.bias != nullptr ? p.bias + column : nullptr,
                   .accumulate = p.accumulate});
}

void run_part(const MatmulProblem<float>& p) {
  const std::int64_t panels = (p.columns + amx::kLines - 1) / amx::kLines;
  amx::Part* const b = panels_in(columns_memory, panels, amx::steps_of(p.inner));
  if (!cut_columns(p, b)) return matmul_onednn(p);
  parallel_for((p.rows + amx::kLines - 1) / amx::kLines, [&](std::int64_t index, int) {
    const std::int64_t row = index * amx::kLines;
    run_rows(rows_of(p, row, std::min(amx::kLines, p.rows - row)), b);
  });
}

}  // namespace

bool matmul_amx(const MatmulProblem<float>& problem) {
  if (problem.rows < kLeast || problem.columns < kLeast || problem.inner < kLeast || !has_amx())
    return false;
  for (std::int64_t column = 0; column < problem.columns; column += kMostColumns)
    for (std::int64_t depth = 0; depth < problem.inner; depth += kMostDepth)
      run_part(part_of(problem, column, depth));
  return true;
}

}  // namespace heed::kernels
