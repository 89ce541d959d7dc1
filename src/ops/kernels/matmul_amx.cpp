// The f32 matrix product by AMX: panels of both operands, then blocks of 32 x 32 (amx_tiles.h).
//
// An element's sum over k has a fixed order for any rows, columns and threads.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/machine.h"
#include "base/thread_memory.h"
#include "heed/threads.h"
#include "ops/kernels/amx_tiles.h"
#include "ops/kernels/matmul.h"

namespace heed::kernels {
namespace {

constexpr std::int64_t kMostLines = 512;  // of the operand that is cut whole: 1.5 MiB of parts, for
constexpr std::int64_t kMostDepth = 512;  // an L2 cache of 2 MiB
constexpr std::int64_t kLeast = 16;       // below, cutting costs more than tiles gain

// Not local to the function: see backward_tasks.cpp.
thread_local ThreadMemory whole_memory;
thread_local ThreadMemory panel_memory;

bool is_wanted() {
  const char* variable = std::getenv("HEED_AMX");
  return variable == nullptr || std::string_view(variable) != "0";
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

// Linux grants a process tile registers on request (Documentation/arch/x86/xstate.rst), but not
// while a thread has a signal stack smaller than AT_MINSIGSTKSZ, which includes their 8 KiB.
// Afterwards such small stacks cannot be set up.
bool has_permission() {
  constexpr long kAskForState = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
}

// Rows of a, or columns of b, in panels.
struct Operand {
  amx::Lines lines;  // all lines
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

struct Panel {
  const amx::Part* parts = nullptr;
  bool good = false;  // every number could be cut
};

void multiply(const MatmulProblem<float>& p, const amx::Part* a, const amx::Part* b) {
  amx::multiply({.a = a,
                 .b = b,
                 .steps = amx::steps_of(p.inner),
                 .out = p.out,
                 .out_row = p.out_row,
                 .rows = p.rows,
                 .columns = p.columns,
                 .bias = p.bias,
                 .accumulate = p.accumulate,
                 .high_parts_alone = p.bf16});
}

// At most 32 x 32 elements. The method for an element depends only on its own row and its panel of
// columns, so no row depends on other rows' numbers. `spare` has room for a panel.
void run_block(const MatmulProblem<float>& p, const Panel& a, const Panel& b, amx::Part* spare) {
  if (!b.good) return matmul_f32(p);
  if (a.good) return multiply(p, a.parts, b.parts);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const MatmulProblem<float> one = rows_from(p, row, 1);
    if (rows_of_a(one).cut(0, spare))
      multiply(one, spare, b.parts);
    else
      matmul_f32(one);
  }
}

// Cuts one operand as a whole, the other panel by panel as it is used.
void run_part(const MatmulProblem<float>& p, bool a_is_whole) {
  const Operand whole = a_is_whole ? rows_of_a(p) : columns_of_b(p);
  const Operand other = a_is_whole ? columns_of_b(p) : rows_of_a(p);
  amx::Part* const parts = memory_for(whole, whole.panels(), whole_memory);
  std::vector<Panel> panels(static_cast<std::size_t>(whole.panels()));
  parallel_for(whole.panels(), [&](std::int64_t index, int) {
    amx::Part* const to = parts + index * whole.panel_parts();
    panels[static_cast<std::size_t>(index)] = {to, whole.cut(index, to)};
  });
  parallel_for(other.panels(), [&](std::int64_t index, int) {
    amx::Part* const to = memory_for(other, 2, panel_memory);
    const Panel panel = {to, other.cut(index, to)};
    const std::int64_t line = index * amx::kLines;
    const MatmulProblem<float> some =
        a_is_whole ? columns_from(p, line, amx::kLines) : rows_from(p, line, amx::kLines);
    const amx::Tiles tiles;
    for (std::int64_t i = 0; i < whole.panels(); ++i) {
      const std::int64_t first = i * amx::kLines;
      const MatmulProblem<float> block =
          a_is_whole ? rows_from(some, first, amx::kLines) : columns_from(some, first, amx::kLines);
      const Panel& one = panels[static_cast<std::size_t>(i)];
      run_block(block, a_is_whole ? one : panel, a_is_whole ? panel : one,
                to + other.panel_parts());
    }
  });
}

}  // namespace

bool has_amx() {
  static const bool has =
      allowed_isa() >= Isa::kAmx && is_wanted() && has_instructions() && has_permission();
  return has;
}

bool matmul_amx(const MatmulProblem<float>& problem) {
  if (problem.columns < kLeast || problem.inner < kLeast || !has_amx()) return false;
  const auto lies_in_lines = [](const MatrixOperand<float>& operand) {
    return operand.row == 1 || operand.column == 1;
  };
  if (!lies_in_lines(problem.a) || !lies_in_lines(problem.b)) return false;
  // Cutting the smaller one as a whole leaves more of the cache: x^T dy is 5 % faster. If equal, it
  // is b, whose panels every row needs: 1 to 2 %.
  const bool a_is_whole = 2 * problem.rows <= problem.columns;
  const std::int64_t lines = a_is_whole ? problem.rows : problem.columns;
  for (std::int64_t depth = 0; depth < problem.inner; depth += kMostDepth) {
    const MatmulProblem<float> p = depth_from(problem, depth);
    for (std::int64_t line = 0; line < lines; line += kMostLines)
      run_part(a_is_whole ? rows_from(p, line, kMostLines) : columns_from(p, line, kMostLines),
               a_is_whole);
  }
  return true;
}

}  // namespace heed::kernels
