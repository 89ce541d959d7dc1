// The operator's errors about scores, dropout, packed sequences and their gradients, with their
// texts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "heed/attention.h"
#include "heed/observe.h"
#include "support/expect_error.h"

namespace heed::attention_score_errors_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A change to a legal problem, and the operator's error.
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

TEST_F(ScoreErrors, OfNumbers) {
  const Bad all[] = {
      {[](auto& a) { a.scores.softcap = -1; },
       "attention: scores.softcap is -1, expected a positive number, or 0 for none"},
      {[](auto& a) { a.scores.softcap = kNan; },
       "attention: scores.softcap is nan, expected a positive number, or 0 for none"},
      {[](auto& a) { a.scores.softcap = kInfinity; },
       "attention: scores.softcap is inf, expected a positive number, or 0 for none"},
      {[](auto& a) { a.scores.scale = {-kInfinity}; },
       "attention: scores.scale is -inf, expected a finite number"},
      {[this](auto& a) { a.scores.alibi = slopes; },
       "attention: scores.alibi[2] is inf, expected a finite number"},
      {[this](auto& a) { a.scores.sink = sinks; },
       "attention: scores.sink[1] is nan, expected a finite number, or -inf for none"},
  };
  for (const Bad& bad : all) expect(bad);
}

TEST_F(ScoreErrors, OfArrays) {
  const Bad all[] = {
      {[this](auto& a) { a.scores.bias = ids; },
       "attention: scores.bias is i32, expected f64, f32, f16 or bf16; a boolean is a mask: keep"},
      {[this](auto& a) { a.scores.bias = kept; },
       "attention: scores.bias is bool, expected f64, f32, f16 or bf16; a boolean is a mask: keep"},
      {[this](auto& a) { a.scores.bias = bias.view().slice(1, 0, 4); },
       "attention: scores.bias.shape is [3, 4], expected one that broadcasts to [B, H, Tq, Tk] = "
       "[2, 4, 3, 5]"},
      {[this](auto& a) { a.scores.bias = high_rank; },
       "attention: scores.bias.shape is [1, 2, 4, 3, 5], expected one that broadcasts to [B, H, "
       "Tq, Tk] = [2, 4, 3, 5]"},
      {[this](auto& a) { a.scores.alibi = five; },
       "attention: scores.alibi is f32 [5], expected a float for each of the 4 heads"},
      {[this](auto& a) { a.scores.sink = bias; },
       "attention: scores.sink is f32 [3, 5], expected a float for each of the 4 heads"},
      {[this](auto& a) {
         a.scores.sink = four;
         a.scores.normaliser = Normaliser::kSigmoid;
       },
       "attention: scores.sink is given, expected none (the normaliser is sigmoid; only softmax "
       "has a sink)"},
  };
  for (const Bad& bad : all) expect(bad);
}

TEST_F(ScoreErrors, OfDropout) {
  for (const auto& [rate, text] :
       {std::pair(1.5, "1.5"), {-0.5, "-0.5"}, {kNan, "nan"}, {kInfinity, "inf"}}) {
    args.dropout = Dropout{.rate = rate};
    EXPECT_HEED_ERROR(attention(args), ErrorCode::kInvalidArgument,
                      fmt::format("attention: dropout.rate is {}, expected 0 to 1", text));
  }
}

TEST_F(ScoreErrors, OfWherePackedSequencesStart) {
  const ConstView packed = q.view().select(0, 0);  // [4, 3, 8]
  struct {
    std::vector<std::int64_t> starts;
    const char* message;
  } const all[] = {
      {{0, 2, 3, 3}, " is for 3 sequences, expected 2, as many as k has"},
      {{1, 2, 3}, "[0] is 1, expected 0 to 0"},
      {{0, 4, 3}, "[1] is 4, expected 0 to 3"},
      {{0, 2, 1}, "[2] is 1, expected 2 to 3"},
      {{0, 1, 2}, "[2] is 2, expected 3, the end of the last sequence"},
  };
  args.q = packed;
  for (const auto& [starts, message] : all) {
    args.extents.query_starts = starts;
    EXPECT_HEED_ERROR(attention(args), ErrorCode::kInvalidArgument,
                      std::string("attention: extents.query_starts") + message);
  }
}

TEST_F(ScoreErrors, OfPackedSequences) {
  const Bad all[] = {
      {[](auto& a) { a.extents.query_starts = {0, 3}; },
       "attention: q.shape is [2, 4, 3, 8], expected [heads, total, D] of packed sequences"},
      {[&](auto& a) {
         a.q = q.view().select(0, 0);
         a.extents.query_starts = {0, 1, 3};
         a.extents.query_length = {1};
       },
       "attention: extents.query_length is given beside extents.query_starts, expected one of "
       "them"},
      {[&](auto& a) {
         a.keys = {k.view().select(0, 0), v.view().select(0, 0)};
         a.extents.key_starts = {0, 1, 5};
         a.extents.key_begin = {1};
       },
       "attention: extents.key_begin is given beside extents.key_starts, expected one of them"},
  };
  for (const Bad& bad : all) expect(bad);
}

TEST_F(ScoreErrors, OfMemory) {
  const char* inside = reinterpret_cast<const char*>(q.data<float>()) + 2;
  const Bad all[] = {
      {[&](auto& a) { a.q = ConstView(inside, DType::kF32, {2, 4, 2, 8}); },
       "attention: q is 2 bytes past a multiple of 4, expected elements of f32 to be aligned"},
      {[&](auto& a) { a.q = ConstView(nullptr, DType::kF32, {2, 4, 3, 8}); },
       "attention: q.data is null"},
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
      "attention: out is 1 byte past a multiple of 4, expected elements of f32 to be aligned");
}

TEST_F(ScoreErrors, OfAnOutputThatIsTheBias) {
  Tensor large = Tensor::zeros({2, 4, 3, 6});
  Tensor lse = Tensor::zeros({2, 4, 3});
  Tensor low = Tensor::zeros({2, 4, 3});
  args.scores.bias = large.view().slice(3, 0, 5);
  EXPECT_HEED_ERROR(attention(args, {large, lse, low}), ErrorCode::kInvalidArgument,
                    "attention: out is in the memory of scores.bias, expected memory of its own");
}

TEST_F(ScoreErrors, OfALseThatThereIsNot) {
  Tensor out = Tensor::zeros({2, 4, 3, 6});
  Tensor lse = Tensor::zeros({2, 4, 3});
  args.scores.normaliser = Normaliser::kNone;
  EXPECT_HEED_ERROR(attention(args, {out, lse, {}}), ErrorCode::kInvalidArgument,
                    "attention: lse is given, expected none (the normaliser is none)");
  const Tensor dout = Tensor::zeros({2, 4, 3, 6});
  EXPECT_HEED_ERROR(attention_backward(args, attention(args), dout, {.dlse = lse}),
                    ErrorCode::kInvalidArgument,
                    "attention_backward: dlse is given, expected none (the normaliser is none and "
                    "has no log-sum-exp)");
}

TEST_F(ScoreErrors, OfGradientsOfWhatIsNotThere) {
  const Tensor dout = Tensor::zeros({2, 4, 3, 6});
  const Attended attended = attention(args);
  const auto expect_refused = [&](const AttentionGradRequest& request, const char* message) {
    EXPECT_HEED_ERROR(attention_backward(args, attended, dout, request),
                      ErrorCode::kInvalidArgument, message);
  };
  expect_refused({.dbias = true},
                 "attention_backward: dbias needs scores.bias, which is not given");
  expect_refused({.dsink = true},
                 "attention_backward: dsink needs scores.sink, which is not given");
  expect_refused({.dslope = true},
                 "attention_backward: dslope needs scores.alibi, which is not given");
}

TEST_F(ScoreErrors, OfAnEnumeratorThatIsNone) {
  const auto expect_refused = [&](const std::string& message) {
    const std::string line = "attention: scores." + message;
    EXPECT_HEED_ERROR(attention(args), ErrorCode::kInvalidArgument, line);
    EXPECT_HEED_ERROR(plan_attention(args), ErrorCode::kInvalidArgument, line);
    EXPECT_HEED_ERROR(plan_attention_backward(args), ErrorCode::kInvalidArgument, line);
  };
  args.scores.similarity = static_cast<Similarity>(9);
  expect_refused("similarity is 9, expected an enumerator from 0 to 3");
  args.scores.similarity = Similarity::kDot;
  args.scores.normaliser = static_cast<Normaliser>(77);
  expect_refused("normaliser is 77, expected an enumerator from 0 to 2");
}

TEST_F(ScoreErrors, OfGradientsThatAreNotAskedFor) {
  Tensor dq = Tensor::zeros(q.shape());
  const Tensor dout = Tensor::zeros({2, 4, 3, 6});
  const Attended attended = attention(args);
  const AttentionGradRequest nothing = {.dq = false, .dk = false, .dv = false};
  AttentionGradRequest unasked = {.dq = false};
  unasked.dq_into = dq;
  const auto expect_refused = [&](const AttentionGradRequest& request, const std::string& message) {
    EXPECT_HEED_ERROR(attention_backward(args, attended, dout, request),
                      ErrorCode::kInvalidArgument, "attention_backward: " + message);
    EXPECT_HEED_ERROR(plan_attention_backward(args, request), ErrorCode::kInvalidArgument,
                      "plan_attention_backward: " + message);
  };
  expect_refused(nothing, "no gradient is asked for, expected at least one");
  expect_refused(unasked, "dq_into is given, expected none (dq is not asked for)");
}

TEST_F(ScoreErrors, OfTheLowPartOfALogSumExpWithoutTheHighOne) {
  Tensor out = Tensor::zeros({2, 4, 3, 6});
  Tensor low = Tensor::zeros({2, 4, 3});
  AttendedView into = {.out = out};
  into.lse_low = low;
  EXPECT_HEED_ERROR(attention(args, into), ErrorCode::kInvalidArgument,
                    "attention: lse_low is given without lse, expected both, or lse alone");
}

TEST_F(ScoreErrors, OfTheEntropyOfWeightsThatAreNoProbabilities) {
  args.scores.normaliser = Normaliser::kNone;
  EntropyObserver entropy;
  Observer* const observers[] = {&entropy};
  EXPECT_HEED_ERROR(observe(args, attention(args), observers), ErrorCode::kInvalidArgument,
                    "entropy: scores.normaliser is none, expected one that makes probabilities");
}

}  // namespace
}  // namespace heed::attention_score_errors_test
