#include "attention/api/checked.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "heed/error.h"
#include "tensor/text.h"

namespace heed {
namespace {

void check_operand(const Operand& operand, bool packed) {
  const auto& [name, view] = operand;
  const std::string_view last = name == "keys.v" ? "Dv" : "D";
  if (!view.given())
    fail("attention", name, {},
         packed ? fmt::format("[heads, total, {}]", last)
                : fmt::format("[batch, heads, T, {}]", last));
  if (packed && view.rank() != 3)
    fail("attention", fmt::format("{}.shape", name), to_string(view.shape()),
         fmt::format("[heads, total, {}] of packed sequences", last));
  if (!packed && view.rank() != 4)
    fail("attention", fmt::format("{}.shape", name), to_string(view.shape()),
         fmt::format("[batch, heads, T, {}]", last));
  const bool is_query = name == "q";
  if (!is_floating(view.dtype()) && (is_query || view.dtype() != DType::kI8))
    fail("attention", name, heed::name(view.dtype()),
         is_query ? "f64, f32, f16 or bf16" : "f64, f32, f16, bf16 or i8");
}

// Axes count from the end, because a packed operand lacks the first axis.
void check_same(const Operand& a, const Operand& b, int axis, std::string_view what) {
  if (a.view.dim(axis) != b.view.dim(axis))
    fail("attention", fmt::format("{}.shape[{}]", a.name, a.view.rank() + axis), a.view.dim(axis),
         fmt::format("{} ({}'s {})", b.view.dim(axis), short_name(b), what));
}

void check_batch(const Operand& q, const Operand& k, const Operand& v, const AttentionArgs& args) {
  const Operand table = {"keys.page_table", args.keys.page_table};
  const Operand& rows = table.view.given() ? table : k;  // its first axis indexes sequences
  const bool plain_queries = q.view.rank() == 4;
  const bool plain_keys = rows.view.rank() != 3;
  if (plain_queries && plain_keys && rows.view.dim(0) != q.view.dim(0))
    fail("attention", fmt::format("{}.shape[0]", rows.name), rows.view.dim(0),
         fmt::format("{} (q's batch)", q.view.dim(0)));
  if (k.view.rank() == 4) check_same(v, k, -4, table.view.given() ? "pages" : "batch");
  if (plain_queries && plain_keys) return;
  const std::int64_t queries =
      plain_queries ? q.view.dim(0) : std::ssize(args.extents.query_starts) - 1;
  const std::int64_t keys = plain_keys ? rows.view.dim(0) : std::ssize(args.extents.key_starts) - 1;
  if (queries != keys)
    fail("attention", plain_keys ? "extents.query_starts" : "extents.key_starts",
         fmt::format("for {}", number_of(plain_keys ? queries : keys, "sequence")),
         fmt::format("{}, as many as {} has", plain_keys ? keys : queries,
                     plain_keys ? short_name(rows) : q.name));
}

void check_operands(const AttentionArgs& args) {
  const Operand q = {"q", args.q};
  const Operand k = {"keys.k", args.keys.k};
  const Operand v = {"keys.v", args.keys.v};
  check_key_form(args);
  check_operand(q, !args.extents.query_starts.empty());
  check_operand(k, !args.extents.key_starts.empty());
  check_operand(v, !args.extents.key_starts.empty());
  for (const Operand& operand : {k, v})
    if (operand.view.dtype() == DType::kF64 && q.view.dtype() != DType::kF64)
      fail("attention", operand.name, "f64",
           fmt::format("f32, f16, bf16 or i8 (q is {})", name(q.view.dtype())));
  check_scales(args.keys);
  check_batch(q, k, v, args);
  check_same(v, k, -3, "heads");
  check_same(v, k, -2, "tokens");
  check_same(k, q, -1, "head size");
  if (q.view.dim(-1) <= 0)
    fail("attention", fmt::format("q.shape[{}]", q.view.rank() - 1), 0,
         "at least 1 (the head size)");
  const std::int64_t heads = q.view.dim(-3);
  const std::int64_t kv_heads = k.view.dim(-3);
  if (heads != 0 && kv_heads == 0)
    fail("attention", fmt::format("keys.k.shape[{}]", k.view.rank() - 3), 0, "at least 1");
  if (heads != 0 && heads % kv_heads != 0)
    fail("attention", fmt::format("q.shape[{}]", q.view.rank() - 3), heads,
         fmt::format("a multiple of {} (k's heads)", kv_heads));
}

// Limits sequences and heads, because tables are allocated per sequence and per head.
void check_count(std::int64_t count, std::string_view axis, std::string_view what) {
  constexpr std::int64_t kMost = std::int64_t{1} << 26;
  if (count > kMost) fail("attention", axis, count, fmt::format("at most {} ({})", kMost, what));
}

void check_counts(const AttentionArgs& args) {
  const bool packed = is_packed(args.q);
  check_count(batch_of(args), packed ? "extents.query_starts" : "q.shape[0]", "sequences");
  check_count(args.q.dim(-3), packed ? "q.shape[0]" : "q.shape[1]", "heads");
}

// The length of the longest packed sequence.
std::int64_t longest(const std::vector<kernels::Sequence>& sequences,
                     std::int64_t kernels::Sequence::* length) {
  std::int64_t most = 0;
  for (const kernels::Sequence& sequence : sequences) most = std::max(most, sequence.*length);
  return most;
}

template <typename Operand, typename View>
Operand strided(const View& view) {
  if (!view.given()) return {};
  const bool packed = is_packed(view);
  return {view.raw(),      packed ? 0 : view.stride(-4),
          view.stride(-3), view.stride(-2),
          view.stride(-1), view.dtype()};
}

// Completes the names in a mask's error: "segments: key_ids" becomes mask.segments.key_ids.
void check_mask(const kernels::AttentionProblem& problem) {
  if (problem.mask == nullptr) return;
  const MaskTarget target = {problem.batch, problem.heads, problem.query_length,
                             problem.key_length};
  reworded([&] { problem.mask->check(target); },
           [](ErrorParts& parts) {
             const std::string path = parts.op.text() + "." + parts.argument.text();
             parts.argument = "mask." + (path.starts_with("keep.keep") ? path.substr(5) : path);
             parts.op = "attention";
           });
}

}  // namespace

bool is_packed(const ConstView& operand) { return operand.rank() == 3; }

std::int64_t batch_of(const AttentionArgs& args) {
  return is_packed(args.q) ? std::ssize(args.extents.query_starts) - 1 : args.q.dim(0);
}

Shape out_shape(const AttentionArgs& args) {
  Shape shape = args.q.shape();
  shape[shape.rank() - 1] = args.keys.v.dim(-1);
  return shape;
}

Shape lse_shape(const AttentionArgs& args) {
  if (is_packed(args.q)) return {args.q.dim(0), args.q.dim(1)};
  return {args.q.dim(0), args.q.dim(1), args.q.dim(2)};
}

bool has_lse(const AttentionArgs& args) { return args.scores.normaliser == Normaliser::kSoftmax; }

DType lse_type(const AttentionArgs& args) {
  return args.q.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
}

bool has_out_low(const AttentionArgs& args) {
  return args.q.dtype() == DType::kF16 || args.q.dtype() == DType::kBF16;
}

void check_out_low(std::string_view op, const AttentionArgs& args, const Operand& out_low) {
  if (!out_low.view.given()) return;
  if (!has_out_low(args))
    fail(op, out_low.name, "given",
         fmt::format("none (q is {}; only f16 and bf16 have it)", name(args.q.dtype())));
  require_shape(op, out_low, out_shape(args), out_legend(args));
  require_type(op, out_low, args.q.dtype(), args.q.dtype());
}

std::string_view out_legend(const AttentionArgs& args) {
  return is_packed(args.q) ? "[H, total, Dv]" : "[B, H, Tq, Dv]";
}

std::string_view lse_legend(const AttentionArgs& args) {
  return is_packed(args.q) ? "[H, total]" : "[B, H, Tq]";
}

void check_row_numbers(std::string_view op, const AttentionArgs& args, const Operand& rows) {
  check_row_numbers(op, args, rows, lse_shape(args), lse_legend(args));
}

void check_row_numbers(std::string_view op, const AttentionArgs& args, const Operand& rows,
                       const Shape& shape, std::string_view legend) {
  require_shape(op, rows, shape, legend);
  require_type(op, rows, lse_type(args), args.q.dtype());
  require_row_major(op, rows);
  require_memory(op, rows);
}

kernels::Input kernel_input(const ConstView& view) { return strided<kernels::Input>(view); }
kernels::Output kernel_output(const View& view) { return strided<kernels::Output>(view); }

kernels::Input broadcast_input(const ConstView& view) {
  std::int64_t strides[4] = {};
  const int missing = 4 - view.rank();
  for (int axis = missing; axis < 4; ++axis)
    if (view.dim(axis - missing) != 1) strides[axis] = view.stride(axis - missing);
  return {view.raw(), strides[0], strides[1], strides[2], strides[3], view.dtype()};
}

std::vector<Operand> inputs(const AttentionArgs& args) {
  return {{"q", args.q},
          {"keys.k", args.keys.k},
          {"keys.v", args.keys.v},
          {"keys.page_table", args.keys.page_table},
          {"keys.k_scales", args.keys.k_scales},
          {"keys.v_scales", args.keys.v_scales},
          {"scores.bias", args.scores.bias},
          {"scores.alibi", args.scores.alibi},
          {"scores.sink", args.scores.sink}};
}

void require_inputs(std::string_view op, const AttentionArgs& args) {
  for (const Operand& operand : inputs(args))
    if (operand.view.given()) require_memory(op, operand);
}

CheckedAttention::CheckedAttention(const AttentionArgs& args) {
  check_operands(args);
  check_counts(args);
  sequences = resolved_sequences(args);
  const bool packed_queries = is_packed(args.q);
  const bool packed_keys = is_packed(args.keys.k);
  problem = {.dtype = args.q.dtype(),
             .batch = batch_of(args),
             .heads = args.q.dim(-3),
             .kv_heads = args.keys.k.dim(-3),
             .query_length = packed_queries ? longest(sequences, &kernels::Sequence::query_length)
                                            : args.q.dim(-2),
             .key_length = packed_keys || is_paged(args.keys)
                               ? longest(sequences, &kernels::Sequence::key_length)
                               : args.keys.k.dim(-2),
             .head_dim = args.q.dim(-1),
             .value_dim = args.keys.v.dim(-1),
             .q = kernel_input(args.q),
             .k = kernel_input(args.keys.k),
             .v = kernel_input(args.keys.v),
             .sequences = sequences.data(),
             .mask = args.mask.rule(),
             .packed_queries = packed_queries ? args.q.dim(-2) : 0,
             .packed_keys = packed_keys};
  resolve_key_form(args.keys, *this);
  resolve_scores(args, *this);
  check_mask(problem);
}

}  // namespace heed
