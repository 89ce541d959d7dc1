// What programs read of an operator's error: its parts, not its text.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "heed/attention.h"
#include "heed/error.h"
#include "heed/mask.h"
#include "heed/observe.h"
#include "heed/operators.h"
#include "support/expect_error.h"

namespace heed {
namespace {

std::optional<Error> error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return {};
}

void expect_parts(const std::function<void()>& work, const ErrorParts& parts) {
  const std::optional<Error> error = error_of(work);
  if (!error) FAIL() << "no error; expected: " << to_string(parts);
  EXPECT_EQ(error->code(), parts.code);
  EXPECT_EQ(error->op(), parts.op.text());
  EXPECT_EQ(error->argument(), parts.argument.text());
  EXPECT_EQ(error->found(), parts.found.text());
  EXPECT_EQ(error->expected(), parts.expected.text());
  EXPECT_EQ(error->hint(), parts.hint.text());
}

class PartsOfErrors : public testing::Test {
 protected:
  Tensor q = Tensor::zeros({1, 2, 3, 8});
  Tensor k = Tensor::zeros({1, 2, 5, 8});
  AttentionArgs args = {.q = q, .keys = {k, k}};
};

TEST_F(PartsOfErrors, AnExtentIsNamedByItsPath) {
  const Tensor narrow = Tensor::zeros({1, 2, 5, 4});
  args.keys.k = narrow;
  expect_parts([&] { attention(args); }, {.op = "attention",
                                          .argument = "keys.k.shape[3]",
                                          .found = 4,
                                          .expected = "8 (q's head size)"});
}

TEST_F(PartsOfErrors, AnEntryOfAListIsNamedByItsIndex) {
  args.extents.key_length = {6};
  expect_parts(
      [&] { attention(args); },
      {.op = "attention", .argument = "extents.key_length[0]", .found = 6, .expected = "0 to 5"});
}

TEST_F(PartsOfErrors, AnAbsentArgumentIsOneOfWhichNothingIsFound) {
  args.keys.v = {};
  expect_parts([&] { attention(args); },
               {.op = "attention", .argument = "keys.v", .expected = "[batch, heads, T, Dv]"});
}

TEST_F(PartsOfErrors, AHintStandsApart) {
  const Tensor bias = Tensor::zeros({3, 5}, DType::kBool);
  args.scores.bias = bias;
  expect_parts([&] { attention(args); }, {.op = "attention",
                                          .argument = "scores.bias",
                                          .found = "bool",
                                          .expected = "f64, f32, f16 or bf16",
                                          .hint = "a boolean is a mask: keep"});
}

TEST_F(PartsOfErrors, AKernelThatDoesNotExistIsNotFound) {
  args.kernel = "abacus";
  const std::optional<Error> error = error_of([&] { attention(args); });
  if (!error) FAIL() << "no error";
  EXPECT_EQ(error->code(), ErrorCode::kNotFound);
  EXPECT_EQ(error->argument(), "kernel");
  EXPECT_EQ(error->found(), "'abacus'");
}

TEST_F(PartsOfErrors, WhatAMaskRefusesIsAnArgumentOfAttention) {
  const Tensor ids = Tensor::zeros({4}, DType::kI32);
  const Tensor queries = Tensor::zeros({3}, DType::kI32);
  args.mask = Mask::segments(queries, ids);
  expect_parts([&] { attention(args); }, {.op = "attention",
                                          .argument = "mask.segments.key_ids.shape",
                                          .found = "[1, 4]",
                                          .expected = "[1, 5], or one row for all"});
}

TEST(PartsOfErrorsOfGraphs, WhatEdgesRefuseIsAnArgumentOfTheCaller) {
  const Tensor x = Tensor::zeros({2, 4});
  const Tensor starts = Tensor::zeros({3}, DType::kF32);
  const Tensor columns = Tensor::zeros({0}, DType::kI32);
  expect_parts(
      [&] { message_passing({.x = x, .graph = {.row_starts = starts, .columns = columns}}); },
      {.op = "message_passing",
       .argument = "graph.row_starts",
       .found = "f32",
       .expected = "i64 or i32"});
}

TEST(PartsOfErrorsOfRope, TheMemberIsNamed) {
  const Tensor x = Tensor::zeros({1, 1, 2, 6});
  expect_parts([&] { rope({.x = x, .rotary_dim = 5}); },
               {.op = "rope",
                .argument = "rotary_dim",
                .found = 5,
                .expected = "an even number of at most D = 6"});
}

// A cast makes any number an enumerator.
TEST(Enumerators, OutsideTheirRangeAreRefused) {
  const Tensor x = Tensor::zeros({1, 1, 2, 4});
  const AttentionArgs args = {.q = x, .keys = {x, x}};
  const Attended attended = attention(args);
  const auto observed = [&](Observer& observer) {
    Observer* const observers[] = {&observer};
    observe(args, attended, observers);
  };
  const std::pair<std::function<void()>, std::string> cases[] = {
      {[&] { map_features(x, {.kind = static_cast<FeatureKind>(9)}); },
       "features: kind is 9, expected an enumerator from 0 to 3"},
      {[&] { linear_attention({.q = x, .k = x, .v = x, .rule = static_cast<UpdateRule>(4)}); },
       "linear_attention: rule is 4, expected an enumerator from 0 to 3"},
      {[&] { rope({.x = x, .pairs = static_cast<RopePairs>(2)}); },
       "rope: pairs is 2, expected an enumerator from 0 to 1"},
      {[&] { HeatmapObserver(1, 1, static_cast<Pool>(3)); },
       "heatmap: pool is 3, expected an enumerator from 0 to 2"},
      {[&] {
         ReceivedObserver observer(static_cast<OverHeads>(2));
         observed(observer);
       },
       "received: heads is 2, expected an enumerator from 0 to 1"},
      {[&] {
         SelectionObserver observer(Selection{}, static_cast<ObservedValue>(5));
         observed(observer);
       },
       "observe: value is 5, expected an enumerator from 0 to 4"}};
  for (const auto& [call, message] : cases)
    EXPECT_HEED_ERROR(call(), ErrorCode::kInvalidArgument, message);
}

}  // namespace
}  // namespace heed
