// What the operator refuses of scores, dropout, packed sequences and their gradients, and in which
// words.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "heed/ops/attention.h"
#include "heed/ops/observe.h"
#include "heed/ops/observers/entropy.h"
#include "support/expect_error.h"

namespace heed {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A change to a legal problem, and what the operator says of it.
struct Bad {
  std::function<void(AttentionArgs&)> change;
  const char* message;
};

Tensor numbers(const std::vector<float>& values) {
  Tensor tensor = Tensor::empty({static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, tensor.data<float>());
  return tensor;
}

// B 2, H 4, G 2, Tq 3, Tk 5, D 8, Dv 6.
class ScoreErrors : public testing::Test {
 protected:
  Tensor q = Tensor::zeros({2, 4, 3, 8});
  Tensor k = Tensor::zeros({2, 2, 5, 8});
  Tensor v = Tensor::zeros({2, 2, 5, 6});
  Tensor bias = Tensor::zeros({3, 5});
  Tensor five = Tensor::zeros({5});
  Tensor ids = Tensor::zeros({3, 5}, DType::kI32);
  Tensor kept = Tensor::zeros({3, 5}, DType::kBool);
  Tensor high_rank = Tensor::zeros({1, 2, 4, 3, 5});
  Tensor slopes = numbers({0, 0, static_cast<float>(kInfinity), 0});
  Tensor sinks = numbers({0, static_cast<float>(kNan), 0, 0});
  Tensor four = Tensor::zeros({4});
  AttentionArgs args = {.q = q, .keys = {k, v}};

  void expect(const Bad& bad) const {
    AttentionArgs changed = args;
    bad.change(changed);
    EXPECT_HEED_ERROR(attention(changed), ErrorCode::kInvalidArgument, bad.message);
  }
};

TEST_F(ScoreErrors, OfScores) {
  const Bad all[] = {
      {[](auto& a) { a.scores.softcap = -1; },
       "attention: scores.softcap is -1: a positive number, or 0 for none, is expected"},
      {[](auto& a) { a.scores.softcap = kNan; },
       "attention: scores.softcap is nan: a positive number, or 0 for none, is expected"},
      {[](auto& a) { a.scores.softcap = kInfinity; },
       "attention: scores.softcap is inf: a positive number, or 0 for none, is expected"},
      {[](auto& a) { a.scores.scale = {-kInfinity}; },
       "attention: scores.scale[0] is -inf: a finite number is expected"},
      {[this](auto& a) { a.scores.bias = ids; },
       "attention: scores.bias is i32: f64, f32, f16 or bf16 is expected (a boolean is a mask: "
       "keep)"},
      {[this](auto& a) { a.scores.bias = kept; },
       "attention: scores.bias is bool: f64, f32, f16 or bf16 is expected (a boolean is a mask: "
       "keep)"},
      {[this](auto& a) { a.scores.bias = bias.view().slice(1, 0, 4); },
       "attention: scores.bias of shape [3, 4] cannot be broadcast to [2, 4, 3, 5] [B, H, Tq, Tk]"},
      {[this](auto& a) { a.scores.bias = high_rank; },
       "attention: scores.bias of shape [1, 2, 4, 3, 5] cannot be broadcast to [2, 4, 3, 5] "
       "[B, H, Tq, Tk]"},
      {[this](auto& a) { a.scores.alibi = five; },
       "attention: scores.alibi is [5] of f32: a float for each of the 4 heads is expected"},
      {[this](auto& a) { a.scores.alibi = slopes; },
       "attention: scores.alibi[2] is inf: a finite number is expected"},
      {[this](auto& a) { a.scores.sink = bias; },
       "attention: scores.sink is [3, 5] of f32: a float for each of the 4 heads is expected"},
      {[this](auto& a) { a.scores.sink = sinks; },
       "attention: scores.sink[1] is nan: a finite number, or -inf for none, is expected"},
      {[this](auto& a) {
         a.scores.sink = four;
         a.scores.normaliser = Normaliser::kSigmoid;
       },
       "attention: scores.sink is given but the normaliser is sigmoid: only softmax has a sink"},
  };
  for (const Bad& bad : all) expect(bad);
}

TEST_F(ScoreErrors, OfDropout) {
  for (const auto& [rate, text] :
       {std::pair(1.0, "1"), {-0.5, "-0.5"}, {kNan, "nan"}, {kInfinity, "inf"}}) {
    args.dropout = Dropout{.rate = rate};
    EXPECT_HEED_ERROR(attention(args), ErrorCode::kInvalidArgument,
                      fmt::format("attention: dropout.rate is {}: a number from 0 to below 1 is "
                                  "expected",
                                  text));
  }
}

TEST_F(ScoreErrors, OfPackedSequences) {
  const ConstView one = q.view().select(0, 0);  // [4, 3, 8]
  const Bad all[] = {
      {[](auto& a) { a.extents.query_starts = {0, 3}; },
       "attention: q.shape is [2, 4, 3, 8]: packed sequences have three dimensions [heads, total, "
       "D]"},
      {[&](auto& a) {
         a.q = one;
         a.extents.query_starts = {0, 2, 3, 3};
       },
       "attention: there are 3 sequences of queries but 2 of keys: q, k and v must have the same "
       "batch"},
      {[&](auto& a) {
         a.q = one;
         a.extents.query_starts = {1, 2, 3};
       },
       "attention: extents.query_starts[0] is 1: 0 to 0 is expected"},
      {[&](auto& a) {
         a.q = one;
         a.extents.query_starts = {0, 4, 3};
       },
       "attention: extents.query_starts[1] is 4: 0 to 3 is expected"},
      {[&](auto& a) {
         a.q = one;
         a.extents.query_starts = {0, 2, 1};
       },
       "attention: extents.query_starts[2] is 1: 2 to 3 is expected"},
      {[&](auto& a) {
         a.q = one;
         a.extents.query_starts = {0, 1, 2};
       },
       "attention: extents.query_starts ends with 2 but there are 3 rows: the end of the last "
       "sequence is expected"},
      {[&](auto& a) {
         a.q = one;
         a.extents.query_starts = {0, 1, 3};
         a.extents.query_length = {1};
       },
       "attention: extents.query_length and extents.query_starts both say where sequences lie: one "
       "of them is expected"},
      {[&](auto& a) {
         a.keys = {k.view().select(0, 0), v.view().select(0, 0)};
         a.extents.key_starts = {0, 1, 5};
         a.extents.key_begin = {1};
       },
       "attention: extents.key_begin and extents.key_starts both say where sequences lie: one of "
       "them is expected"},
  };
  for (const Bad& bad : all) expect(bad);
}

TEST_F(ScoreErrors, OfMemory) {
  const char* inside = reinterpret_cast<const char*>(q.data<float>()) + 2;
  const Bad all[] = {
      {[&](auto& a) { a.q = ConstView(inside, DType::kF32, {2, 4, 2, 8}); },
       "attention: q lies 2 bytes past a multiple of 4: elements of f32 are aligned to it"},
      {[&](auto& a) { a.q = ConstView(nullptr, DType::kF32, {2, 4, 3, 8}); },
       "attention: q has no memory"},
  };
  for (const Bad& bad : all) expect(bad);
}

TEST_F(ScoreErrors, OfOutputsThatAreMisaligned) {
  Tensor memory = Tensor::zeros({2, 4, 4, 6});
  Tensor lse = Tensor::zeros({2, 4, 3});
  Tensor low = Tensor::zeros({2, 4, 3});
  char* inside = reinterpret_cast<char*>(memory.data<float>()) + 1;
  EXPECT_HEED_ERROR(
      attention(args, {View(inside, DType::kF32, {2, 4, 3, 6}), lse, low}),
      ErrorCode::kInvalidArgument,
      "attention: out lies 1 bytes past a multiple of 4: elements of f32 are aligned to it");
}

TEST_F(ScoreErrors, OfAnOutputThatIsTheBias) {
  Tensor large = Tensor::zeros({2, 4, 3, 6});
  Tensor lse = Tensor::zeros({2, 4, 3});
  Tensor low = Tensor::zeros({2, 4, 3});
  args.scores.bias = large.view().slice(3, 0, 5);
  EXPECT_HEED_ERROR(
      attention(args, {large, lse, low}), ErrorCode::kInvalidArgument,
      "attention: out shares memory with scores.bias: an output needs memory of its own");
}

TEST_F(ScoreErrors, OfALseThatThereIsNot) {
  Tensor out = Tensor::zeros({2, 4, 3, 6});
  Tensor lse = Tensor::zeros({2, 4, 3});
  args.scores.normaliser = Normaliser::kNone;
  EXPECT_HEED_ERROR(attention(args, {out, lse, {}}), ErrorCode::kInvalidArgument,
                    "attention: lse is given but the normaliser is none: it has none");
  const Tensor dout = Tensor::zeros({2, 4, 3, 6});
  EXPECT_HEED_ERROR(
      attention_backward(args, attention(args), dout, {.dlse = lse}), ErrorCode::kInvalidArgument,
      "attention_backward: dlse is given but the normaliser is none: it has no log-sum-exp");
}

TEST_F(ScoreErrors, OfGradientsOfWhatIsNotThere) {
  const Tensor dout = Tensor::zeros({2, 4, 3, 6});
  const Attended attended = attention(args);
  const auto expect_refused = [&](const AttentionGradRequest& request, const char* message) {
    EXPECT_HEED_ERROR(attention_backward(args, attended, dout, request),
                      ErrorCode::kInvalidArgument, message);
  };
  expect_refused({.dbias = true},
                 "attention_backward: dbias is asked for but scores.bias is not given");
  expect_refused({.dsink = true},
                 "attention_backward: dsink is asked for but scores.sink is not given");
  expect_refused({.dslope = true},
                 "attention_backward: dslope is asked for but scores.alibi is not given");
}

TEST_F(ScoreErrors, OfTheEntropyOfWeightsThatAreNoProbabilities) {
  args.scores.normaliser = Normaliser::kNone;
  EntropyObserver entropy;
  Observer* const observers[] = {&entropy};
  EXPECT_HEED_ERROR(
      observe(args, attention(args), observers), ErrorCode::kInvalidArgument,
      "entropy: the normaliser is none: weights that are no probabilities have no entropy");
}

}  // namespace
}  // namespace heed
