// The forms of keys: contiguous, packed, paged or ring, and the scales of i8.
#include <fmt/format.h>

#include <algorithm>

#include "attention/api/checked.h"
#include "heed/attention.h"
#include "heed/error.h"
#include "tensor/text.h"

namespace heed {
namespace {

void check_one_form(const AttentionArgs& args) {
  const Keys& keys = args.keys;
  if (is_paged(keys) && is_ring(keys))
    fail("attention", "keys.page_table", "given beside keys.ring_begin", "one of them");
  const auto alone = [](bool given, std::string_view form, std::string_view other) {
    if (given)
      fail("attention", fmt::format("keys.{}", form), fmt::format("given beside extents.{}", other),
           "one of them");
  };
  alone(is_paged(keys) && !args.extents.key_starts.empty(), "page_table", "key_starts");
  alone(is_ring(keys) && !args.extents.key_starts.empty(), "ring_begin", "key_starts");
  alone(is_ring(keys) && !args.extents.key_begin.empty(), "ring_begin", "key_begin");
}

// The last page of a row is seldom full; its unused slots must not be read.
void check_page_table(const AttentionArgs& args) {
  const ConstView& table = args.keys.page_table;
  if (!table.given()) return;
  if (table.rank() != 2 || (table.dtype() != DType::kI32 && table.dtype() != DType::kI64))
    fail("attention", "keys.page_table", to_string(table), "i32 or i64 [B, pages a row]");
  require_memory("attention", {"keys.page_table", table});
  if (table.dim(0) != 0 && args.extents.key_length.empty())
    fail("attention", "extents.key_length", {}, "the keys of each row (keys.page_table is given)");
}

void check_scales_of(const KeyInput& input) {
  const auto& [values, scales] = input;
  const bool integers = values.view.dtype() == DType::kI8;
  if (!integers && scales.view.given())
    fail("attention", scales.name, "given",
         fmt::format("none ({} is {}; scales belong to i8)", short_name(values),
                     name(values.view.dtype())));
  if (!integers) return;
  const Shape wanted = scales_shape(values.view.shape());
  if (scales.view.shape() != wanted || scales.view.dtype() != DType::kF32)
    fail("attention", scales.name, to_string(scales.view),
         fmt::format("f32 {} ({} is i8: one for each {} elements of a row)", wanted,
                     short_name(values), kElementsPerScale));
}

std::int64_t entry(const ConstView& table, std::int64_t b, std::int64_t n) {
  const std::int64_t at = b * table.stride(0) + n * table.stride(1);
  return table.dtype() == DType::kI64 ? table.data<std::int64_t>()[at]
                                      : std::int64_t{table.data<std::int32_t>()[at]};
}

// Row-major page table, 0 for entries without keys.
std::vector<std::int64_t> resolved_pages(const Keys& keys,
                                         const std::vector<kernels::Sequence>& sequences) {
  const ConstView& table = keys.page_table;
  const std::int64_t size = keys.k.dim(2);
  std::vector<std::int64_t> pages(static_cast<std::size_t>(table.element_count()) + 1);
  for (std::int64_t b = 0; b < table.dim(0); ++b) {
    const kernels::Sequence& sequence = sequences[static_cast<std::size_t>(b)];
    if (sequence.key_length == 0) continue;
    const std::int64_t last = (sequence.key_begin + sequence.key_length - 1) / size;
    for (std::int64_t n = sequence.key_begin / size; n <= last; ++n) {
      const std::int64_t page = entry(table, b, n);
      if (page < 0 || page >= keys.k.dim(0))
        fail("attention", fmt::format("keys.page_table[{}, {}]", b, n), page,
             fmt::format("0 to {} (k's pages)", keys.k.dim(0) - 1));
      pages[static_cast<std::size_t>(b * table.dim(1) + n)] = page;
    }
  }
  return pages;
}

}  // namespace

bool is_paged(const Keys& keys) { return keys.page_table.given(); }
bool is_ring(const Keys& keys) { return !keys.ring_begin.empty(); }

std::array<KeyInput, 2> key_inputs(const Keys& keys) {
  return {{{{"keys.k", keys.k}, {"keys.k_scales", keys.k_scales}},
           {{"keys.v", keys.v}, {"keys.v_scales", keys.v_scales}}}};
}

void check_key_form(const AttentionArgs& args) {
  check_one_form(args);
  check_page_table(args);
}

void check_scales(const Keys& keys) {
  for (const KeyInput& input : key_inputs(keys)) check_scales_of(input);
}

std::int64_t key_room(const Keys& keys) {
  return is_paged(keys) ? keys.page_table.dim(1) * keys.k.dim(2) : keys.k.dim(2);
}

void resolve_key_form(const Keys& keys, CheckedAttention& checked) {
  kernels::KeyForm& form = checked.problem.key_form;
  form.k_scales = kernel_input(keys.k_scales);
  form.v_scales = kernel_input(keys.v_scales);
  if (is_ring(keys)) form.ring_slots = keys.k.dim(2);
  if (!is_paged(keys)) return;
  checked.pages = resolved_pages(keys, checked.sequences);
  form.pages = checked.pages.data();
  form.pages_a_row = keys.page_table.dim(1);
  form.page_size = keys.k.dim(2);
}

std::string_view gradient_refusal(const Keys& keys, const ConstView& operand) {
  if (is_paged(keys)) return "is paged";
  if (is_ring(keys)) return "lies in a ring";
  return operand.dtype() == DType::kI8 ? "is i8" : "";
}

}  // namespace heed
