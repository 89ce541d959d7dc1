#include "attention/api/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <string_view>

#include "attention/api/checked.h"
#include "attention/api/gradients.h"
#include "attention/backends.h"
#include "heed/attention.h"
#include "heed/error.h"
#include "heed/threads.h"

namespace heed {
namespace {

// 1234567 as 1.23 M; short numbers unchanged.
std::string amount(double value) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}{}", value, kUnits[unit]);
}

// The middle of [begin, end), rounded so that whole tiles precede it.
std::int64_t middle(std::int64_t begin, std::int64_t end) {
  return begin + ((end - begin) / 2 + kMaskRows - 1) / kMaskRows * kMaskRows;
}

// Counts visible pairs. Halves large tiles only where the mask's edge crosses them, so lengths of
// millions take no time.
std::int64_t pairs_in(const MaskRule& rule, const MaskPlace& place, const MaskTile& tile) {
  const auto& [row_begin, row_end, key_begin, key_end] = tile;
  const TileClass found = rule.tile(place, tile);
  if (found == TileClass::kEmpty) return 0;
  const std::int64_t keys = key_end - key_begin;
  const std::int64_t rows = row_end - row_begin;
  if (found == TileClass::kFull) return keys * rows;
  if (rows > kMaskRows && rows >= keys) {
    const std::int64_t half = middle(row_begin, row_end);
    return pairs_in(rule, place, {row_begin, half, key_begin, key_end}) +
           pairs_in(rule, place, {half, row_end, key_begin, key_end});
  }
  if (keys > kMaskRows) {
    const std::int64_t half = middle(key_begin, key_end);
    return pairs_in(rule, place, {row_begin, row_end, key_begin, half}) +
           pairs_in(rule, place, {row_begin, row_end, half, key_end});
  }
  std::array<std::uint64_t, kMaskRows> words;
  rule.bits(place, tile, words.data());
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < keys; ++i)
    pairs += std::popcount(words[static_cast<std::size_t>(i)]);
  return pairs;
}

std::int64_t allowed_pairs(const kernels::AttentionProblem& problem, std::int64_t b,
                           std::int64_t h) {
  const kernels::Sequence& sequence = problem.sequences[b];
  const std::int64_t all = sequence.query_length * sequence.key_length;
  if (problem.mask == nullptr || all == 0) return all;
  return pairs_in(*problem.mask, kernels::place(problem, b, h),
                  {0, sequence.query_length, 0, sequence.key_length});
}

std::string alignment(const Extents& extents) {
  if (extents.q_offset.empty()) return "bottom-right";
  const auto is_zero = [](std::int64_t offset) { return offset == 0; };
  const bool top_left = std::ranges::all_of(extents.q_offset, is_zero) &&
                        std::ranges::all_of(extents.key_offset, is_zero);
  return top_left ? "top-left" : "given";
}

double product(std::initializer_list<std::int64_t> factors) {
  double product = 1;
  for (const std::int64_t factor : factors) product *= static_cast<double>(factor);
  return product;
}

void require_countable(double number, std::string_view what) {
  if (number >= 0x1p63)
    fail("plan_attention", what, fmt::format("{:.3g}", number), "less than 2^63",
         ErrorCode::kUnsupported);
}

// The part that the plans of both passes share.
Plan problem_plan(const AttentionArgs& args, const kernels::AttentionProblem& problem) {
  double pairs = 0;
  for (std::int64_t b = 0; b < problem.batch; ++b)
    pairs += product(
        {problem.heads, problem.sequences[b].query_length, problem.sequences[b].key_length});
  require_countable(pairs, "the number of pairs");
  Plan plan;
  plan.mask = args.mask.describe();
  plan.alignment = alignment(args.extents);
  for (std::int64_t b = 0; b < problem.batch; ++b)
    for (std::int64_t h = 0; h < problem.heads; ++h)
      plan.allowed_pairs += allowed_pairs(problem, b, h);
  return plan;
}

// Rows of k over all heads. An array of pages may hold other batches' keys, so there only the keys
// of this problem's sequences count.
double stored_keys(const AttentionArgs& args, const kernels::AttentionProblem& problem) {
  const ConstView& k = args.keys.k;
  if (is_packed(k)) return product({k.dim(0), k.dim(1)});
  if (!is_paged(args.keys)) return product({k.dim(0), k.dim(1), k.dim(2)});
  double keys = 0;
  for (std::int64_t b = 0; b < problem.batch; ++b)
    keys += static_cast<double>(problem.sequences[b].key_length);
  return keys * static_cast<double>(problem.kv_heads);
}

// The bytes of q, k, v, the bias, out and both parts of the lse.
double bytes_of(const AttentionArgs& args, const kernels::AttentionProblem& problem) {
  const auto of = [](double elements, DType dtype) {
    return elements * static_cast<double>(size_bytes(dtype));
  };
  const double rows = is_packed(args.q) ? product({args.q.dim(0), args.q.dim(1)})
                                        : product({args.q.dim(0), args.q.dim(1), args.q.dim(2)});
  const ConstView& bias = args.scores.bias;
  double bytes =
      of(rows * static_cast<double>(problem.head_dim + problem.value_dim), problem.dtype);
  for (const auto& [values, scales] : key_inputs(args.keys)) {
    const auto of_keys = [&](const ConstView& view) {
      return of(stored_keys(args, problem) * static_cast<double>(view.dim(-1)), view.dtype());
    };
    bytes += of_keys(values.view);
    if (scales.view.given()) bytes += of_keys(scales.view);
  }
  if (has_lse(args)) bytes += of(2 * rows, lse_type(args));
  if (bias.given()) bytes += of(static_cast<double>(bias.element_count()), bias.dtype());
  return bytes;
}

// Kernels count their memory in 64 bits: rejects widths and lengths that would overflow it.
void require_countable_workspace(const kernels::AttentionProblem& problem) {
  const double rows = product({problem.batch, problem.heads, problem.query_length + 64});
  const double widths =
      static_cast<double>(problem.head_dim) + static_cast<double>(problem.value_dim) + 64;
  const double keys = static_cast<double>(problem.key_length) + 64;
  require_countable(64 * 8 * widths * (rows + keys) * thread_count(), "the workspace's bound");
}

}  // namespace

std::string mask_text(const Plan& plan) {
  return plan.mask == "none" ? plan.mask : fmt::format("{}, {}", plan.mask, plan.alignment);
}

std::string plan_text(std::string_view title, const Plan& plan) {
  std::string text = fmt::format("{:<10} {}\n", title, plan.kernel);
  for (const Plan::Refusal& refusal : plan.refusals)
    text += fmt::format("  skipped  {}: {}\n", refusal.kernel, refusal.reason);
  text += fmt::format("  mask     {}\n", mask_text(plan));
  text += fmt::format("  pairs    {} query and key pairs may attend\n",
                      amount(static_cast<double>(plan.allowed_pairs)));
  text += fmt::format("  work     {} FLOP\n", amount(plan.flop));
  text += fmt::format("  memory   {}B read and written once, {}B of workspace\n",
                      amount(plan.bytes), amount(static_cast<double>(plan.workspace_bytes)));
  return text;
}

Plan plan_attention(const AttentionArgs& args) {
  const CheckedAttention checked(args);
  const kernels::AttentionProblem& problem = checked.problem;
  Plan plan = problem_plan(args, problem);
  const auto& candidate = choose_forward(problem, args.kernel, plan.refusals);
  plan.kernel = candidate.name;
  require_countable_workspace(problem);
  plan.workspace_bytes = candidate.workspace_bytes(problem);
  plan.flop = 2.0 * static_cast<double>(problem.head_dim + problem.value_dim) *
              static_cast<double>(plan.allowed_pairs);
  plan.bytes = bytes_of(args, problem);
  plan.text = plan_text("forward", plan);
  return plan;
}

Plan plan_attention_backward(const AttentionArgs& args, const AttentionGradRequest& request) {
  const CheckedAttention checked(args);
  check_request("plan_attention_backward", args, request);
  const kernels::AttentionProblem& problem = checked.problem;
  Plan plan = problem_plan(args, problem);
  const auto& candidate = choose_backward(problem, args.kernel, plan.refusals);
  plan.kernel = candidate.name;
  require_countable_workspace(problem);
  plan.workspace_bytes = candidate.workspace_bytes(problem);
  // Recomputed scores, dq and dk: 3 D; dv and dp: 2 Dv. Everything from the forward pass is read,
  // and as much is written or read as cotangents.
  plan.flop = 2.0 * static_cast<double>(3 * problem.head_dim + 2 * problem.value_dim) *
              static_cast<double>(plan.allowed_pairs);
  plan.bytes = 2 * bytes_of(args, problem);
  plan.text = plan_text("backward", plan);
  return plan;
}

}  // namespace heed
