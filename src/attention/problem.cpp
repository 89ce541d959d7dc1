#include "attention/problem.h"

namespace heed::kernels {
Output query_rows(const AttentionProblem& problem, std::int64_t columns, void* memory) {
  const bool packed = problem.packed_queries > 0;
  const std::int64_t rows = packed ? problem.packed_queries : problem.query_length;
  return {.data = memory,
          .batch = packed ? 0 : problem.heads * rows * columns,
          .head = rows * columns,
          .row = columns,
          .column = 1,
          .dtype = accumulator(problem)};
}

}  // namespace heed::kernels
