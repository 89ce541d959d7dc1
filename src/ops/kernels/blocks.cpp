#include "ops/kernels/blocks.h"

#include "base/parallel.h"
#include "ops/kernels/matmul_kernels.h"

namespace heed::kernels::cpu {
namespace {

constexpr std::int64_t kShort = std::int64_t{1} << 18;  // multiplications: 10 us

}  // namespace

Cut cut_of(std::int64_t rows, std::int64_t columns, std::int64_t inner, std::int64_t block_rows) {
  const std::int64_t threads = threads_here();
  Cut cut = {parts_of(rows, block_rows), 1};
  if (threads == 1 || rows * columns * inner < kShort) return cut;
  if (cut.rows >= 2 * threads) return {parts_of(cut.rows, threads) * threads, 1};
  cut.columns = cut.rows % threads != 0 ? threads : 2;
  const std::int64_t panels = parts_of(columns, matmul_kernels().panel);
  if (cut.columns <= panels) return cut;
  const std::int64_t strips = parts_of(rows, matmul_kernels().strip);
  return {std::min(strips, std::max(cut.rows, parts_of(threads, panels))), panels};
}

}  // namespace heed::kernels::cpu
