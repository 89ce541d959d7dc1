#include "attention/reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "heed/threads.h"

namespace heed::kernels {
namespace {

using reference::Head;
using reference::load;
using reference::Row;
using reference::store;

void store_lse(const AttentionProblem& problem, const AttentionForward& forward, std::int64_t at,
               const LogSum& lse) {
  if (forward.lse == nullptr) return;
  const auto to = [&]<typename T>(T* high) {
    lse.store(high[at], static_cast<T*>(forward.lse_low)[at]);
  };
  if (accumulator(problem) == DType::kF64)
    to(static_cast<double*>(forward.lse));
  else
    to(static_cast<float*>(forward.lse));
}

void store_out(const AttentionForward& forward, const Head& head, std::int64_t row, std::int64_t d,
               double value) {
  const Output& out = forward.out;
  const std::int64_t at = reference::index(out, head.b, head.h, row, d);
  store(out.data, out.dtype, at, value);
  const Output& low = forward.out_low;
  if (low.data == nullptr) return;
  const double high = load(out.data, out.dtype, at);
  store(low.data, low.dtype, reference::index(low, head.b, head.h, row, d),
        std::isfinite(high) ? value - high : 0);
}

void attend(const Head& head, const AttentionForward& forward) {
  const AttentionProblem& problem = head.problem;
  Row row;
  for (std::int64_t i = 0; i < query_room(problem, head.b); ++i) {
    row.look(head, i);
    const bool padding = i >= head.sequence.query_length;
    const LogSum lse = row.normalise(head);
    store_lse(problem, forward, head.lse_index(i),
              padding ? LogSum{-std::numeric_limits<double>::infinity(), 0} : lse);
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
      const double kept = head.kept(i, row.keys[n]);
      row.weights[n] = kept == 0 ? 0 : row.weights[n] * kept;
    }
    for (std::int64_t d = 0; d < problem.value_dim; ++d) {
      double sum = 0;
      for (std::size_t n = 0; n < row.keys.size(); ++n)
        sum += row.weights[n] * head.v(row.keys[n], d);
      store_out(forward, head, head.sequence.query_begin + i, d, sum);
    }
  }
}

}  // namespace

void reference_attention(const AttentionProblem& problem, const AttentionForward& forward) {
  parallel_for(problem.batch * problem.heads, [&](std::int64_t task, int) {
    attend(Head{problem, task / problem.heads, task % problem.heads}, forward);
  });
}

std::int64_t reference_attention_workspace(const AttentionProblem& problem) {
  return thread_count() * problem.key_length * 40;  // keys, scores and weights of one row
}

}  // namespace heed::kernels
