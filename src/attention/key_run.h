// Where a sequence's keys are stored, as runs with one row stride. Kernels read every form of keys
// through these.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/problem.h"

namespace heed::kernels {

/// Keys [begin, begin + count) of a sequence, by logical index, of one key/value head.
struct KeySpan {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// k or v, with the scales of i8, and the number of columns.
struct KeyOperand {
  const Input& values;
  const Input& scales;
  std::int64_t columns = 0;
};

inline KeyOperand keys_of(const AttentionProblem& problem) {
  return {problem.k, problem.key_form.k_scales, problem.head_dim};
}
inline KeyOperand values_of(const AttentionProblem& problem) {
  return {problem.v, problem.key_form.v_scales, problem.value_dim};
}

/// `count` keys that are one row stride apart, from `row` on of `block`: a page, or the memory of
/// one batch. Strides[batch] of the operand are between blocks.
struct KeyRun {
  std::int64_t block = 0;
  std::int64_t row = 0;
  std::int64_t count = 0;

  std::int64_t offset(const Input& of, std::int64_t kv_head) const {
    return block * of.batch + kv_head * of.head + row * of.row;
  }
};

/// The first run of a span, which must not be empty.
inline KeyRun first_run(const AttentionProblem& problem, const KeySpan& span) {
  const KeyForm& form = problem.key_form;
  const std::int64_t slot = problem.sequences[span.batch].key_begin + span.begin;
  if (form.pages != nullptr) {
    const std::int64_t page = form.pages[span.batch * form.pages_a_row + slot / form.page_size];
    const std::int64_t row = slot % form.page_size;
    return {page, row, std::min(span.count, form.page_size - row)};
  }
  if (form.ring_slots == 0) return {span.batch, slot, span.count};
  const std::int64_t row = slot % form.ring_slots;
  return {span.batch, row, std::min(span.count, form.ring_slots - row)};
}

}  // namespace heed::kernels
