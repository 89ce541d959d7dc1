#include <cstring>

#include "bench/attention_cases.h"
#include "heed/attention.h"

namespace heed {
namespace {

constexpr std::int64_t kPageSize = 24;  // tiles of 64 keys begin within one

std::int64_t pages_a_row(std::int64_t keys) { return (keys + kPageSize - 1) / kPageSize; }

// Pages are in reverse order, so that no row's keys are contiguous.
std::int64_t page_of(const AttentionCase& problem, std::int64_t batch, std::int64_t n) {
  const std::int64_t a_row = pages_a_row(problem.key_length);
  return problem.batch * a_row - 1 - (batch * a_row + n);
}

std::int64_t ring_begin(const AttentionCase& problem, std::int64_t batch) {
  return (7 + 90 * batch) % problem.key_length;
}

struct Slot {
  std::int64_t block;
  std::int64_t row;
};

Slot slot_of(const AttentionCase& problem, std::int64_t batch, std::int64_t key) {
  if (problem.keys == CaseKeys::kPages)
    return {page_of(problem, batch, key / kPageSize), key % kPageSize};
  return {batch, (ring_begin(problem, batch) + key) % problem.key_length};
}

// Copies rows [B, G, Tk, W] to their places in the form; unused slots are 0.
Tensor placed(const AttentionCase& problem, const Tensor& rows) {
  const bool paged = problem.keys == CaseKeys::kPages;
  const std::int64_t blocks = problem.batch * (paged ? pages_a_row(problem.key_length) : 1);
  const std::int64_t slots = paged ? kPageSize : problem.key_length;
  const std::int64_t heads = rows.dim(1);
  Tensor made = Tensor::zeros({blocks, heads, slots, rows.dim(3)}, rows.dtype());
  const auto bytes = static_cast<std::size_t>(rows.dim(3)) * size_bytes(rows.dtype());
  const auto* from = static_cast<const char*>(rows.view().raw());
  auto* to = static_cast<char*>(made.view().raw());
  for (std::int64_t b = 0; b < problem.batch; ++b)
    for (std::int64_t g = 0; g < heads; ++g)
      for (std::int64_t j = 0; j < problem.key_length; ++j, from += bytes) {
        const Slot slot = slot_of(problem, b, j);
        const std::int64_t row = (slot.block * heads + g) * slots + slot.row;
        std::memcpy(to + static_cast<std::size_t>(row) * bytes, from, bytes);
      }
  return made;
}

Tensor page_table(const AttentionCase& problem) {
  const std::int64_t a_row = pages_a_row(problem.key_length);
  Tensor table = Tensor::empty({problem.batch, a_row}, DType::kI32);
  for (std::int64_t b = 0; b < problem.batch; ++b)
    for (std::int64_t n = 0; n < a_row; ++n)
      table.data<std::int32_t>()[b * a_row + n] = static_cast<std::int32_t>(page_of(problem, b, n));
  return table;
}

}  // namespace

HeldKeys held_keys(const AttentionCase& problem, const Tensor& k, const Tensor& v) {
  HeldKeys held;
  const auto add = [&](const Tensor& rows) -> ConstView {
    held.memory.push_back(problem.keys == CaseKeys::kRows ? rows.clone() : placed(problem, rows));
    return held.memory.back();
  };
  const DType dtype = problem.kv_dtype.value_or(problem.dtype);
  if (dtype == DType::kI8) {
    const Quantised keys = quantise(k);
    const Quantised values = quantise(v);
    held.keys = {.k = add(keys.values),
                 .v = add(values.values),
                 .k_scales = add(keys.scales),
                 .v_scales = add(values.scales)};
  } else {
    held.keys = {.k = add(Tensor::converted(k, dtype)), .v = add(Tensor::converted(v, dtype))};
  }
  if (problem.keys == CaseKeys::kPages) {
    held.memory.push_back(page_table(problem));
    held.keys.page_table = held.memory.back();
  }
  for (std::int64_t b = 0; problem.keys == CaseKeys::kRing && b < problem.batch; ++b)
    held.keys.ring_begin.push_back(ring_begin(problem, b));
  return held;
}

}  // namespace heed
