// The f32 matrix product by AMX: panels of both operands, then blocks of 32 x 32 (amx_tiles.h).
//
// An element is the sum over k in one order, whatever the rows, columns and threads; and whether
// AMX serves is a matter of b's shape and the row's own numbers, so no row depends on others.
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

constexpr std::int64_t kMostLines = 512;  // of the operand that is cut whole: 1.5 MiB of parts, for
constexpr std::int64_t kMostDepth = 512;  // a second-level cache of 2 MiB
constexpr std::int64_t kLeast = 16;       // below, cutting costs more than tiles gain

// Not local to the function: see attention_backward_tasks.cpp.
thread_local ThreadMemory whole_memory;
thread_local ThreadMemory panel_memory;

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

// Rows of a, or columns of b, in panels.
struct Operand {
  amx::Lines lines;  // all of them
  amx::TileRows rows = amx::TileRows::kLine;

  std::int64_t panels() const { return (lines.count + amx::kLines - 1) / amx::kLines; }
  std::int64_t panel_parts() const { return amx::steps_of(lines.length) * amx::kStep; }
  bool cut(std::int64_t panel, amx::Part* to) const {
    amx::Lines some = lines;
    const std::int64_t first = panel * amx::kLines;
    some.data += first * lines.line;
    some.count = std::min(amx::kLines, lines.count - first);
    return amx::cut_panel(some, rows, to);
  }
};

amx::Part* memory_for(const Operand& operand, std::int64_t panels, ThreadMemory& memory) {
  const std::int64_t parts = panels * operand.panel_parts();
  return reinterpret_cast<amx::Part*>(
      memory.at_least(parts * static_cast<std::int64_t>(sizeof(amx::Part))));
}

Operand rows_of_a(const MatmulProblem<float>& p) {
  return {
      {.data = p.a.data, .line = p.a.row, .depth = p.a.column, .count = p.rows, .length = p.inner},
      amx::TileRows::kLine};
}

Operand columns_of_b(const MatmulProblem<float>& p) {
  return {{.data = p.b.data,
           .line = p.b.column,
           .depth = p.b.row,
           .count = p.columns,
           .length = p.inner},
          amx::TileRows::kPair};
}

MatmulProblem<float> rows_from(MatmulProblem<float> p, std::int64_t first, std::int64_t most) {
  p.rows = std::min(most, p.rows - first);
  p.a.data += first * p.a.row;
  p.out += first * p.out_row;
  return p;
}

MatmulProblem<float> columns_from(MatmulProblem<float> p, std::int64_t first, std::int64_t most) {
  p.columns = std::min(most, p.columns - first);
  p.b.data += first * p.b.column;
  p.out += first;
  if (p.bias != nullptr) p.bias += first;
  return p;
}

MatmulProblem<float> depth_from(MatmulProblem<float> p, std::int64_t first) {
  p.inner = std::min(kMostDepth, p.inner - first);
  p.a.data += first * p.a.column;
  p.b.data += first * p.b.row;
  p.accumulate = p.accumulate || first > 0;
  if (first > 0) p.bias = nullptr;
  return p;
}

// False: it holds a number that cannot be cut.
bool cut_whole(const Operand& operand, amx::Part* to) {
  std::atomic<bool> good = true;
  parallel_for(operand.panels(), [&](std::int64_t panel, int) {
    if (!operand.cut(panel, to + panel * operand.panel_parts())) good = false;
  });
  return good;
}

// A panel times the whole of the other operand. `p` has the panel's lines alone.
void run_panel(const MatmulProblem<float>& p, bool a_is_whole, const amx::Part* whole,
               const amx::Part* panel) {
  const std::int64_t steps = amx::steps_of(p.inner);
  const amx::Tiles tiles;
  for (std::int64_t line = 0; line < (a_is_whole ? p.rows : p.columns); line += amx::kLines) {
    const MatmulProblem<float> block =
        a_is_whole ? rows_from(p, line, amx::kLines) : columns_from(p, line, amx::kLines);
    amx::multiply({.a = a_is_whole ? whole : panel,
                   .b = a_is_whole ? panel : whole,
                   .steps = steps,
                   .out = block.out,
                   .out_row = block.out_row,
                   .rows = block.rows,
                   .columns = block.columns,
                   .bias = block.bias,
                   .accumulate = block.accumulate});
    whole += steps * amx::kStep;
  }
}

// Rows of which one cannot be cut go one by one, so that the others keep their bits.
void run_apart(const MatmulProblem<float>& p, const amx::Part* columns, amx::Part* panel) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const MatmulProblem<float> one = rows_from(p, row, 1);
    rows_of_a(one).cut(0, panel) ? run_panel(one, false, columns, panel) : matmul_onednn(one);
  }
}

// One operand is cut whole, the other panel by panel as it is used. False, and nothing is written:
// the whole one cannot be cut.
bool run_part(const MatmulProblem<float>& p, bool a_is_whole) {
  const Operand whole = a_is_whole ? rows_of_a(p) : columns_of_b(p);
  const Operand other = a_is_whole ? columns_of_b(p) : rows_of_a(p);
  amx::Part* const parts = memory_for(whole, whole.panels(), whole_memory);
  if (!cut_whole(whole, parts)) return false;
  parallel_for(other.panels(), [&](std::int64_t index, int) {
    const std::int64_t line = index * amx::kLines;
    const MatmulProblem<float> some =
        a_is_whole ? columns_from(p, line, amx::kLines) : rows_from(p, line, amx::kLines);
    amx::Part* const panel = memory_for(other, 1, panel_memory);
    if (other.cut(index, panel)) return run_panel(some, a_is_whole, parts, panel);
    a_is_whole ? matmul_onednn(some) : run_apart(some, parts, panel);
  });
  return true;
}

void run_by_columns(const MatmulProblem<float>& p) {
  for (std::int64_t column = 0; column < p.columns; column += kMostLines) {
    const MatmulProblem<float> part = columns_from(p, column, kMostLines);
    if (!run_part(part, false)) matmul_onednn(part);
  }
}

void run_by_rows(const MatmulProblem<float>& p) {
  for (std::int64_t row = 0; row < p.rows; row += kMostLines) {
    const MatmulProblem<float> part = rows_from(p, row, kMostLines);
    if (!run_part(part, true)) run_by_columns(part);
  }
}

}  // namespace

bool matmul_amx(const MatmulProblem<float>& problem) {
  if (problem.columns < kLeast || problem.inner < kLeast || !has_amx()) return false;
  // The smaller one whole leaves more of the cache: x^T dy 5 % faster. Between equals it is b,
  // whose panels every row needs: 1 to 2 %.
  const bool a_is_whole = 2 * problem.rows <= problem.columns;
  for (std::int64_t depth = 0; depth < problem.inner; depth += kMostDepth) {
    const MatmulProblem<float> p = depth_from(problem, depth);
    a_is_whole ? run_by_rows(p) : run_by_columns(p);
  }
  return true;
}

}  // namespace heed::kernels
