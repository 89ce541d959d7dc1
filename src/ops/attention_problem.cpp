#include "ops/attention_problem.h"

#include <cmath>

#include "heed/base/error.h"
#include "ops/overlap.h"

namespace heed {
namespace {

constexpr std::string_view kOp = "attention";

void check_operand(const Operand& operand) {
  const auto& [name, view] = operand;
  require(view.given(), "attention: {} is not given", name);
  require(view.rank() == 4,
          "attention: {}.shape is {}: four dimensions [batch, heads, T, {}] are "
          "expected",
          name, to_string(view.shape()), name == "v" ? "Dv" : "D");
  require(is_floating(view.dtype()), "attention: {} is {}: f64 or f32 is expected", name,
          heed::name(view.dtype()));
  if (size_bytes(view.dtype()) == 2)
    fail(ErrorCode::kUnsupported, "attention: {} is {}: only f64 and f32 are served", name,
         heed::name(view.dtype()));
}

void check_same(const Operand& a, const Operand& b, int axis, std::string_view rule) {
  require(a.view.dim(axis) == b.view.dim(axis),
          "attention: {}.shape[{}] is {} but {}.shape[{}] is {}: {}", a.name, axis,
          a.view.dim(axis), b.name, axis, b.view.dim(axis), rule);
}

void check_operands(const AttentionArgs& args) {
  const Operand q = {"q", args.q};
  const Operand k = {"k", args.keys.k};
  const Operand v = {"v", args.keys.v};
  for (const Operand& operand : {q, k, v}) check_operand(operand);
  require_type(kOp, k, q.view.dtype());
  require_type(kOp, v, q.view.dtype());
  check_same(k, q, 0, "q, k and v must have the same batch");
  check_same(v, q, 0, "q, k and v must have the same batch");
  check_same(v, k, 1, "k and v must have the same heads");
  check_same(v, k, 2, "every key needs its value");
  check_same(k, q, 3, "q and k must have the same head size");
  require(q.view.dim(3) > 0, "attention: q.shape[3] is 0: the head size must be at least 1");
  const std::int64_t heads = q.view.dim(1);
  const std::int64_t kv_heads = k.view.dim(1);
  require(heads == 0 || (kv_heads > 0 && heads % kv_heads == 0),
          "attention: q.shape[1] is {} but k.shape[1] is {}: the query heads must be a multiple of "
          "the key/value heads",
          heads, kv_heads);
}

void refuse(bool given, std::string_view what) {
  if (given) fail(ErrorCode::kUnsupported, "attention: {} is not served yet", what);
}

void refuse_what_is_not_served(const AttentionArgs& args) {
  const Scores& scores = args.scores;
  refuse(scores.similarity != Similarity::kDot, "scores.similarity other than dot");
  refuse(scores.softcap != 0, "scores.softcap");
  refuse(scores.bias.given(), "scores.bias");
  refuse(scores.alibi.given(), "scores.alibi");
  refuse(scores.sink.given(), "scores.sink");
  refuse(scores.normaliser != Normaliser::kSoftmax, "scores.normaliser other than softmax");
  refuse(args.dropout.has_value(), "dropout");
}

std::vector<double> resolved_scale(const AttentionArgs& args) {
  const std::vector<double>& given = args.scores.scale;
  const std::int64_t heads = args.q.dim(1);
  const auto count = static_cast<std::int64_t>(given.size());
  require(count <= 1 || count == heads,
          "attention: scores.scale has {} entries but q.shape[1] is {}: none, one or one a head is "
          "expected",
          count, heads);
  for (std::size_t i = 0; i < given.size(); ++i)
    require(std::isfinite(given[i]),
            "attention: scores.scale[{}] is {}: a finite number is expected", i, given[i]);
  if (count == heads && heads > 0) return given;
  const double one = given.empty() ? 1 / std::sqrt(static_cast<double>(args.q.dim(3))) : given[0];
  return std::vector<double>(static_cast<std::size_t>(heads), one);
}

// A list of Extents: one entry a batch, one for all, or none.
struct ExtentList {
  std::string_view name;
  const std::vector<std::int64_t>& values;

  void check_count(std::int64_t batch) const {
    require(values.size() <= 1 || static_cast<std::int64_t>(values.size()) == batch,
            "attention: extents.{} has {} entries but the batch is {}: none, one or one a batch is "
            "expected",
            name, values.size(), batch);
  }

  std::int64_t at(std::int64_t b, std::int64_t otherwise) const {
    if (values.empty()) return otherwise;
    return values[values.size() == 1 ? 0 : static_cast<std::size_t>(b)];
  }

  std::int64_t length_at(std::int64_t b, std::int64_t room) const {
    const std::int64_t value = at(b, room);
    require(value >= 0 && value <= room, "attention: extents.{}[{}] is {}: 0 to {} is expected",
            name, b, value, room);
    return value;
  }

  std::int64_t position_at(std::int64_t b, std::int64_t otherwise) const {
    constexpr std::int64_t kFarthest = std::int64_t{1} << 60;  // sums of two cannot overflow
    const std::int64_t value = at(b, otherwise);
    require(value >= -kFarthest && value <= kFarthest,
            "attention: extents.{}[{}] is {}: a position within 2^60 of 0 is expected", name, b,
            value);
    return value;
  }
};

std::vector<kernels::Sequence> resolved_sequences(const AttentionArgs& args) {
  const Extents& extents = args.extents;
  const ExtentList query_length = {"query_length", extents.query_length};
  const ExtentList key_begin = {"key_begin", extents.key_begin};
  const ExtentList key_length = {"key_length", extents.key_length};
  const ExtentList q_offset = {"q_offset", extents.q_offset};
  const ExtentList key_offset = {"key_offset", extents.key_offset};
  const std::int64_t batch = args.q.dim(0);
  for (const ExtentList& list : {query_length, key_begin, key_length, q_offset, key_offset})
    list.check_count(batch);
  const std::int64_t slots = args.keys.k.dim(2);
  std::vector<kernels::Sequence> sequences(static_cast<std::size_t>(batch));
  for (std::int64_t b = 0; b < batch; ++b) {
    kernels::Sequence& sequence = sequences[static_cast<std::size_t>(b)];
    sequence.query_length = query_length.length_at(b, args.q.dim(2));
    sequence.key_begin = key_begin.values.empty() ? 0 : key_begin.length_at(b, slots);
    sequence.key_length = key_length.length_at(b, slots - sequence.key_begin);
    sequence.key_offset = key_offset.position_at(b, 0);
    sequence.q_offset =
        q_offset.position_at(b, sequence.key_length - sequence.query_length + sequence.key_offset);
  }
  return sequences;
}

}  // namespace

kernels::Input kernel_input(const ConstView& view) {
  return {view.raw(), view.stride(0), view.stride(1), view.stride(2), view.stride(3)};
}

kernels::Output kernel_output(const View& view) {
  return {view.raw(), view.stride(0), view.stride(1), view.stride(2), view.stride(3)};
}

void require_shape(std::string_view op, const Operand& operand, const Shape& wanted,
                   std::string_view legend) {
  require(operand.view.given(), "{}: {} is not given", op, operand.name);
  require(operand.view.shape() == wanted, "{}: {}.shape is {} but {} {} is expected", op,
          operand.name, to_string(operand.view.shape()), to_string(wanted), legend);
}

void require_type(std::string_view op, const Operand& operand, DType wanted) {
  require(operand.view.dtype() == wanted, "{}: {} is {} but q is {}: one type for all is expected",
          op, operand.name, name(operand.view.dtype()), name(wanted));
}

void require_row_major(std::string_view op, const Operand& operand) {
  require(operand.view.element_count() == 0 || operand.view.is_contiguous(),
          "{}: {} has strides {}: row-major memory is expected", op, operand.name,
          to_string(operand.view.strides()));
}

void require_apart(std::string_view op, const Operand& output, std::span<const Operand> others) {
  require(!overlaps_itself(output.view),
          "{}: {} of shape {} with strides {} overlaps itself: every element needs its own memory",
          op, output.name, to_string(output.view.shape()), to_string(output.view.strides()));
  for (const Operand& other : others)
    require(!other.view.given() || !overlap(output.view, other.view),
            "{}: {} shares memory with {}: an output needs memory of its own", op, output.name,
            other.name);
}

CheckedAttention::CheckedAttention(const AttentionArgs& args) {
  check_operands(args);
  refuse_what_is_not_served(args);
  scale = resolved_scale(args);
  sequences = resolved_sequences(args);
  problem = {.dtype = args.q.dtype(),
             .batch = args.q.dim(0),
             .heads = args.q.dim(1),
             .kv_heads = args.keys.k.dim(1),
             .query_length = args.q.dim(2),
             .key_length = args.keys.k.dim(2),
             .head_dim = args.q.dim(3),
             .value_dim = args.keys.v.dim(3),
             .q = kernel_input(args.q),
             .k = kernel_input(args.keys.k),
             .v = kernel_input(args.keys.v),
             .sequences = sequences.data(),
             .mask = args.mask.rule(),
             .scale = scale.data()};
  if (problem.mask != nullptr)
    problem.mask->check({problem.batch, problem.heads, problem.query_length, problem.key_length});
}

}  // namespace heed
