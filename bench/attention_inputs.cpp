// The tensors of a case.
#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <span>

#include "attention/api/checked.h"
#include "base/philox.h"
#include "bench/attention_cases.h"
#include "heed/mask.h"

namespace heed {
namespace {

// Keeps two of three, in runs, so that there are empty, partial and full tiles; row 1 sees no key.
Tensor kept_stretches(const AttentionCase& problem) {
  Tensor kept =
      Tensor::empty({problem.batch, 1, problem.query_length, problem.key_length}, DType::kBool);
  Random random(2024, 9);
  bool keep = true;
  for (std::int64_t i = 0; i < kept.element_count(); ++i) {
    if (random.below(40) == 0) keep = random.below(3) != 0;
    const std::int64_t row = i / std::max<std::int64_t>(problem.key_length, 1) %
                             std::max<std::int64_t>(problem.query_length, 1);
    kept.data<bool>()[i] = keep && row != 1;
  }
  return kept;
}

// Where packed sequences begin, and where the last ends.
std::vector<std::int64_t> packed_starts(std::int64_t batch, std::int64_t longest) {
  std::vector<std::int64_t> starts = {0};
  for (std::int64_t b = 0; b < batch; ++b)
    starts.push_back(starts.back() + std::max<std::int64_t>(longest - 13 * b, 0));
  return starts;
}

// [B, heads, T, D] as a view of memory in the case's order; packed memory unchanged.
ConstView as_heads(const Tensor& tensor, Layout layout) {
  const bool as_stored = layout == Layout::kHeads || layout == Layout::kPacked;
  return as_stored ? tensor.view() : tensor.view().permute({0, 2, 1, 3});
}

Shape stored(Layout layout, std::int64_t batch, std::int64_t heads, std::int64_t length,
             std::int64_t columns) {
  if (layout == Layout::kHeads) return {batch, heads, length, columns};
  if (layout == Layout::kPacked) return {heads, packed_starts(batch, length).back(), columns};
  return {batch, length, heads, columns};
}

Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::copy_of(ConstView(values.data(), DType::kI64, Shape{std::ssize(values)}));
}

// Documents of 23 tokens.
Tensor document_ids(std::int64_t length) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < length; ++i) ids.push_back(i / 23);
  return integers(ids);
}

// Each query sees itself and every ninth key; one in five sees no key.
Mask graph(std::int64_t queries, std::int64_t keys) {
  std::vector<std::int64_t> starts = {0};
  std::vector<std::int64_t> columns;
  for (std::int64_t i = 0; i < queries; ++i) {
    for (std::int64_t j = 0; i % 5 != 3 && j < keys; ++j)
      if (j == i || j % 9 == i % 9) columns.push_back(j);
    starts.push_back(std::ssize(columns));
  }
  return Mask::edges(integers(starts), integers(columns));
}

// A quarter of the first sequence, a few tokens of the others.
std::vector<std::int64_t> prefixes(const AttentionCase& problem) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(problem.batch), 9);
  if (!lengths.empty()) lengths[0] = problem.query_length / 4 + 3;
  return lengths;
}

// Keeps the memory of the mask in `memory`.
Mask mask_of(const AttentionCase& problem, std::vector<Tensor>& memory) {
  const std::int64_t queries = problem.query_length, keys = problem.key_length;
  const auto kept = [&] { return Mask::keep(memory.emplace_back(kept_stretches(problem))); };
  switch (problem.mask) {
    case CaseMask::kNone:
      return {};
    case CaseMask::kBand:
      return Mask::band(problem.band);
    case CaseMask::kKeep:
      return kept();
    case CaseMask::kBandAndKeep:
      return Mask::band(problem.band) & kept();
    case CaseMask::kBandOrKeep:
      return Mask::band(problem.band) | kept();
    case CaseMask::kPrefix:
      return Mask::causal() | Mask::prefix(prefixes(problem));
    case CaseMask::kSegments:
      return Mask::segments(document_ids(queries), document_ids(keys));
    case CaseMask::kEdges:
      return graph(queries, keys);
    case CaseMask::kBlocks:
      break;
  }
  Tensor& layout =
      memory.emplace_back(Tensor::zeros({(queries + 29) / 30, (keys + 39) / 40}, DType::kBool));
  for (std::int64_t i = 0; i < layout.element_count(); i += 3) layout.data<bool>()[i] = true;
  return Mask::blocks(layout, {.rows = 30, .keys = 40});
}

}  // namespace

AttentionGradRequest AttentionInputs::request() const {
  return {.dk = gradient_refusal(args.keys, args.keys.k).empty(),
          .dv = gradient_refusal(args.keys, args.keys.v).empty(),
          .dbias = args.scores.bias.given(),
          .dsink = args.scores.sink.given(),
          .dslope = args.scores.alibi.given(),
          .dscale = true,
          .dlse = dlse};
}

AttentionInputs::AttentionInputs(const AttentionCase& problem) {
  const auto& [name, dtype, B, H, G, Tq, Tk, D, Dv, mask, sides, extents, layout, spread, scores,
               kv_dtype, keys] = problem;
  if (layout == Layout::kInterleaved) {
    memory_.push_back(normal({B, Tq, H + 2 * G, D}, dtype, 1, 1));
    const ConstView all = as_heads(memory_[0], layout);
    args.q = all.slice(1, 0, H);
    args.keys = {all.slice(1, H, H + G), all.slice(1, H + G, H + 2 * G)};
  } else {
    memory_.push_back(normal(stored(layout, B, H, Tq, D), dtype, spread, 1));
    args.q = as_heads(memory_[0], layout);
    add_keys(problem);
  }
  args.extents = extents;
  Shape of_lse = {B, H, Tq};
  Shape of_out = {B, H, Tq, Dv};
  if (layout == Layout::kPacked) {
    args.extents.query_starts = packed_starts(B, Tq);
    args.extents.key_starts = packed_starts(B, Tk);
    of_lse = {H, args.q.dim(1)};
    of_out = {H, args.q.dim(1), Dv};
  }
  dout = normal(of_out, dtype, 1, 4);
  if (scores.normaliser == Normaliser::kSoftmax)
    dlse = normal(of_lse, dtype == DType::kF64 ? DType::kF64 : DType::kF32, 1, 5);
  args.mask = mask_of(problem, memory_);
  add_scores(problem);
}

void AttentionInputs::add_keys(const AttentionCase& problem) {
  const auto& [batch, heads, length] =
      std::array{problem.batch, problem.kv_heads, problem.key_length};
  const Shape of_k = stored(problem.layout, batch, heads, length, problem.head_dim);
  const Shape of_v = stored(problem.layout, batch, heads, length, problem.value_dim);
  const DType dtype = problem.kv_dtype.value_or(problem.dtype);
  if (problem.keys == CaseKeys::kRows && dtype != DType::kI8) {
    memory_.push_back(normal(of_k, dtype, 1, 2));
    memory_.push_back(normal(of_v, dtype, 1, 3));
    args.keys = {as_heads(memory_[1], problem.layout), as_heads(memory_[2], problem.layout)};
    return;
  }
  HeldKeys held =
      held_keys(problem, normal(of_k, DType::kF64, 1, 2), normal(of_v, DType::kF64, 1, 3));
  std::ranges::move(held.memory, std::back_inserter(memory_));
  args.keys = held.keys;
}

void AttentionInputs::add_scores(const AttentionCase& problem) {
  const CaseScores& wanted = problem.scores;
  const DType dtype = problem.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  args.scores.similarity = wanted.similarity;
  args.scores.normaliser = wanted.normaliser;
  args.scores.softcap = wanted.softcap;
  if (!wanted.bias.empty()) {
    Tensor bias = normal(Shape(std::span<const std::int64_t>(wanted.bias)), DType::kF64, 1, 6);
    for (std::int64_t i = 3; wanted.bias_hides && i < bias.element_count(); i += 7)
      bias.data<double>()[i] = -std::numeric_limits<double>::infinity();
    memory_.push_back(Tensor::converted(bias, dtype));
    args.scores.bias = memory_.back();
  }
  const Shape heads = {problem.heads};
  if (wanted.alibi) {
    memory_.push_back(normal(heads, dtype, 0.1, 7));
    args.scores.alibi = memory_.back();
  }
  if (wanted.sink) {
    memory_.push_back(normal(heads, dtype, 2, 8));
    args.scores.sink = memory_.back();
  }
  for (std::int64_t h = 0; wanted.scale_a_head && h < problem.heads; ++h)
    args.scores.scale.push_back(h == 1 ? 0 : 0.2 * static_cast<double>(h + 1));
  if (wanted.dropout != 0) args.dropout = Dropout{.rate = wanted.dropout, .seed = 77, .offset = 3};
}

}  // namespace heed
