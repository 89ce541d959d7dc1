// The forms that keys may have: contiguous, packed, paged or in a ring, and the scales of i8.
#include <algorithm>

#include "heed/base/error.h"
#include "heed/ops/quantise.h"
#include "ops/attention_problem.h"

namespace heed {
namespace {

void check_one_form(const AttentionArgs& args) {
  const Keys& keys = args.keys;
  require(!is_paged(keys) || !is_ring(keys),
          "attention: keys.page_table and keys.ring_begin both say where keys lie: one of them is "
          "expected");
  const auto alone = [](bool given, std::string_view form, std::string_view other) {
    require(!given,
            "attention: keys.{} and extents.{} both say where keys lie: one of them is expected",
            form, other);
  };
  alone(is_paged(keys) && !args.extents.key_starts.empty(), "page_table", "key_starts");
  alone(is_ring(keys) && !args.extents.key_starts.empty(), "ring_begin", "key_starts");
  alone(is_ring(keys) && !args.extents.key_begin.empty(), "ring_begin", "key_begin");
}

// The last page of a row is seldom full, and what its other slots hold is nobody's.
void check_page_table(const AttentionArgs& args) {
  const ConstView& table = args.keys.page_table;
  if (!table.given()) return;
  require(table.rank() == 2 && (table.dtype() == DType::kI32 || table.dtype() == DType::kI64),
          "attention: keys.page_table is {} of {}: i32 or i64 of [B, pages a row] is expected",
          to_string(table.shape()), name(table.dtype()));
  require_memory("attention", {"keys.page_table", table});
  require(table.dim(0) == 0 || !args.extents.key_length.empty(),
          "attention: extents.key_length is not given but keys.page_table is: how many keys each "
          "row has is expected");
}

void check_scales_of(const KeyInput& input) {
  const auto& [values, scales] = input;
  const bool integers = values.view.dtype() == DType::kI8;
  require(integers || !scales.view.given(),
          "attention: {} is given but {} is {}: scales belong to i8", scales.name, values.name,
          name(values.view.dtype()));
  if (!integers) return;
  require(scales.view.given(),
          "attention: {} is i8 but {} is not given: an f32 scale for each {} elements of a row is "
          "expected",
          values.name, scales.name, kElementsPerScale);
  const Shape wanted = scales_shape(values.view.shape());
  require(scales.view.shape() == wanted && scales.view.dtype() == DType::kF32,
          "attention: {} is {} of {} but {} is {}: {} of f32 is expected, a scale for each {} "
          "elements of a row",
          scales.name, to_string(scales.view.shape()), name(scales.view.dtype()), values.name,
          to_string(values.view.shape()), to_string(wanted), kElementsPerScale);
}

std::int64_t entry(const ConstView& table, std::int64_t b, std::int64_t n) {
  const std::int64_t at = b * table.stride(0) + n * table.stride(1);
  return table.dtype() == DType::kI64 ? table.data<std::int64_t>()[at]
                                      : std::int64_t{table.data<std::int32_t>()[at]};
}

// Row-major; where no key lies, 0.
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
      require(page >= 0 && page < keys.k.dim(0),
              "attention: keys.page_table[{}, {}] is {} but k has {} pages: 0 to {} is expected", b,
              n, page, keys.k.dim(0), keys.k.dim(0) - 1);
      pages[static_cast<std::size_t>(b * table.dim(1) + n)] = page;
    }
  }
  return pages;
}

}  // namespace

bool is_paged(const Keys& keys) { return keys.page_table.given(); }
bool is_ring(const Keys& keys) { return !keys.ring_begin.empty(); }

std::array<KeyInput, 2> key_inputs(const Keys& keys) {
  return {{{{"k", keys.k}, {"keys.k_scales", keys.k_scales}},
           {{"v", keys.v}, {"keys.v_scales", keys.v_scales}}}};
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
