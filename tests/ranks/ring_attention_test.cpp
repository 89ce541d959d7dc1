#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "heed/attention.h"
#include "heed/error.h"
#include "heed/mask.h"
#include "heed/ranks.h"
#include "heed/tensor.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"
#include "support/thread_ranks.h"

namespace heed {
namespace {

// A whole text's attention, and what each rank holds of it.
struct Case {
  std::string name;
  std::int64_t length = 37;
  DType dtype = DType::kF32;
  std::function<void(AttentionArgs&)> with = [](AttentionArgs&) {};
};

constexpr std::int64_t kBatch = 2, kHeads = 4, kKeyHeads = 2, kWidth = 8, kValueWidth = 6;

struct Whole {
  explicit Whole(const Case& of)
      : q(test::random_tensor({kBatch, kHeads, of.length, kWidth}, 1, of.dtype)),
        k(test::random_tensor({kBatch, kKeyHeads, of.length, kWidth}, 2, of.dtype)),
        v(test::random_tensor({kBatch, kKeyHeads, of.length, kValueWidth}, 3, of.dtype)),
        dout(test::random_tensor({kBatch, kHeads, of.length, kValueWidth}, 4, of.dtype)) {
    args = {.q = q, .keys = {k, v}};
    of.with(args);
  }
  Tensor q, k, v, dout;
  AttentionArgs args;
};

// The tokens of these parts, side by side.
Tensor held(const ConstView& whole, const std::vector<RingPart>& parts) {
  std::int64_t tokens = 0;
  for (const RingPart& part : parts) tokens += part.end - part.begin;
  Shape shape = whole.shape();
  shape[2] = tokens;
  Tensor here = Tensor::empty(shape, DType::kF64);
  const Tensor wide = Tensor::converted(whole, DType::kF64);
  const std::int64_t length = whole.dim(2);
  const std::int64_t width = whole.rank() == 4 ? whole.dim(3) : 1;
  for (std::int64_t outer = 0; outer < whole.dim(0) * whole.dim(1); ++outer) {
    std::int64_t at = 0;
    for (const RingPart& part : parts)
      for (std::int64_t token = part.begin; token < part.end; ++token, ++at)
        std::copy_n(wide.data<double>() + (outer * length + token) * width, width,
                    here.data<double>() + (outer * tokens + at) * width);
  }
  return Tensor::converted(here, whole.dtype());
}

std::vector<Case> cases() {
  static const Tensor sink = test::random_tensor({kHeads}, 5);
  static const Tensor slopes = test::random_tensor({kHeads}, 6);
  static const Tensor bias = test::random_tensor({kHeads, 37, 37}, 7);
  static const Tensor row_bias = test::random_tensor({kBatch, 1, 1, 37}, 8);
  return {
      {"everyone"},
      {"causal", 37, DType::kF32, [](AttentionArgs& args) { args.mask = Mask::causal(); }},
      {"f64", 37, DType::kF64, [](AttentionArgs& args) { args.mask = Mask::causal(); }},
      {"bf16", 64, DType::kBF16, [](AttentionArgs& args) { args.mask = Mask::causal(); }},
      {"window", 200, DType::kF32, [](AttentionArgs& args) { args.mask = Mask::band({16, 0}); }},
      {"prefix", 64, DType::kF32,
       [](AttentionArgs& args) { args.mask = Mask::causal() | Mask::prefix({5, 40}); }},
      {"sink", 37, DType::kF32,
       [](AttentionArgs& args) {
         args.mask = Mask::causal();
         args.scores.sink = sink;
       }},
      {"alibi", 37, DType::kF32, [](AttentionArgs& args) { args.scores.alibi = slopes; }},
      {"bias", 37, DType::kF32, [](AttentionArgs& args) { args.scores.bias = bias; }},
      {"row bias", 37, DType::kF32, [](AttentionArgs& args) { args.scores.bias = row_bias; }},
      {"softcap", 37, DType::kF32, [](AttentionArgs& args) { args.scores.softcap = 2; }},
      {"dropout", 37, DType::kF32,
       [](AttentionArgs& args) { args.dropout = Dropout{.rate = .3, .seed = 9}; }},
      {"sigmoid", 37, DType::kF32,
       [](AttentionArgs& args) { args.scores.normaliser = Normaliser::kSigmoid; }},
      {"few tokens", 3, DType::kF32, [](AttentionArgs& args) { args.mask = Mask::causal(); }},
      {"no tokens", 0},
  };
}

RingAttentionArgs local_of(const Whole& whole, RingSplit split, const Tensor& q, const Tensor& k,
                           const Tensor& v) {
  AttentionArgs args = whole.args;
  args.q = q;
  args.keys = {k, v};
  return {.local = args, .length = whole.q.dim(2), .split = split};
}

double tolerance(DType dtype) { return dtype == DType::kBF16 ? 2e-2 : 4e-6; }

void expect_equal_to_one_process(const Case& of, RingSplit split, int count) {
  const Whole whole(of);
  const Attended expected = attention(whole.args);
  const bool has_sink = whole.args.scores.sink.given();
  const AttentionGrads gradients =
      attention_backward(whole.args, expected, whole.dout, {.dsink = has_sink});
  test::on_ranks(count, [&](Ranks& ranks) {
    const auto parts = ring_parts(split, of.length, ranks.rank(), ranks.count());
    const Tensor q = held(whole.q, parts), k = held(whole.k, parts), v = held(whole.v, parts);
    const RingAttentionArgs args = local_of(whole, split, q, k, v);
    const Attended found = ring_attention(ranks, args);
    const double most = tolerance(of.dtype);
    EXPECT_LE(test::largest_difference(found.out, held(expected.out, parts)), most);
    if (expected.lse.given()) {
      EXPECT_LE(test::largest_difference(found.lse, held(expected.lse, parts)), most);
    }
    const AttentionGrads back =
        ring_attention_backward(ranks, args, found, held(whole.dout, parts), {.dsink = has_sink});
    EXPECT_LE(test::largest_difference(back.dq, held(gradients.dq, parts)), 4 * most);
    EXPECT_LE(test::largest_difference(back.dk, held(gradients.dk, parts)), 4 * most);
    EXPECT_LE(test::largest_difference(back.dv, held(gradients.dv, parts)), 4 * most);
    if (has_sink) {
      EXPECT_LE(test::largest_difference(back.dsink, gradients.dsink), 4 * most);
    }
  });
}

TEST(RingAttention, EqualsOneProcessForwardAndBackward) {
  for (const Case& of : cases())
    for (const RingSplit split : {RingSplit::kContiguous, RingSplit::kZigzag})
      for (const int count : {1, 2, 4}) {
        SCOPED_TRACE(of.name + ", " + std::to_string(count) + " ranks, " +
                     (split == RingSplit::kZigzag ? "zigzag" : "contiguous"));
        expect_equal_to_one_process(of, split, count);
      }
}

TEST(RingAttention, PartsCoverTheTextOnce) {
  for (const RingSplit split : {RingSplit::kContiguous, RingSplit::kZigzag})
    for (const std::int64_t length : {0, 1, 7, 64, 1001}) {
      std::vector<int> times(static_cast<std::size_t>(length), 0);
      for (int rank = 0; rank < 5; ++rank)
        for (const RingPart& part : ring_parts(split, length, rank, 5))
          for (std::int64_t token = part.begin; token < part.end; ++token)
            ++times[static_cast<std::size_t>(token)];
      EXPECT_THAT(times, testing::Each(1));
    }
}

TEST(RingAttention, TheSameBitsInEveryRun) {
  const Whole whole({.name = "causal", .length = 90, .with = [](AttentionArgs& args) {
                       args.mask = Mask::causal();
                     }});
  const auto run = [&] {
    std::mutex mutex;
    std::vector<Tensor> found(3);
    test::on_ranks(3, [&](Ranks& ranks) {
      const auto parts = ring_parts(RingSplit::kZigzag, 90, ranks.rank(), 3);
      const Tensor q = held(whole.q, parts), k = held(whole.k, parts), v = held(whole.v, parts);
      const RingAttentionArgs args = local_of(whole, RingSplit::kZigzag, q, k, v);
      const Attended out = ring_attention(ranks, args);
      AttentionGrads back = ring_attention_backward(ranks, args, out, held(whole.dout, parts));
      const std::lock_guard lock(mutex);
      found[static_cast<std::size_t>(ranks.rank())] = std::move(back.dk);
    });
    return found;
  };
  const std::vector<Tensor> first = run(), second = run();
  for (std::size_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(test::largest_difference(first[rank], second[rank]), 0);
}

// What two ranks are told, of which `spoil` changes the second one's arguments.
std::vector<std::string> told_where(
    const std::function<void(AttentionArgs& args, const Whole& whole)>& spoil) {
  const Whole whole({.name = "everyone", .length = 12});
  std::mutex mutex;
  std::vector<std::string> told;
  test::on_ranks(2, [&](Ranks& ranks) {
    const auto parts = ring_parts(RingSplit::kZigzag, 12, ranks.rank(), 2);
    const Tensor q = held(whole.q, parts), k = held(whole.k, parts), v = held(whole.v, parts);
    RingAttentionArgs args = local_of(whole, RingSplit::kZigzag, q, k, v);
    if (ranks.rank() == 1) spoil(args.local, whole);
    try {
      ring_attention(ranks, args);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      told.emplace_back(error.what());
    }
  });
  return told;
}

TEST(RingAttention, ARankWithOtherArgumentsIsAnErrorOnAll) {
  const auto told =
      told_where([](AttentionArgs& args, const Whole&) { args.mask = Mask::causal(); });
  EXPECT_THAT(told, testing::ElementsAre(
                        "ring_attention: local.mask is another on rank 1 than on rank 0, expected "
                        "the same on every rank",
                        "ring_attention: local.mask is another on rank 1 than on rank 0, expected "
                        "the same on every rank"));
}

TEST(RingAttention, WhatARankRefusesIsToldToTheOthers) {
  const auto told = told_where([](AttentionArgs& args, const Whole& whole) { args.q = whole.q; });
  EXPECT_THAT(told,
              testing::UnorderedElementsAre(
                  "ring_attention: ranks is rank 1 refuses its arguments, expected arguments "
                  "that every rank takes",
                  "ring_attention: local.q.shape[2] is 12, expected 6 (what rank 1 of 2 holds "
                  "of 12 tokens)"));
}

TEST(RingAttention, GradientsThatAreNotServedAreNamed) {
  const Whole whole({.name = "everyone", .length = 4});
  test::on_ranks(1, [&](Ranks& ranks) {
    const RingAttentionArgs args = {.local = whole.args, .length = 4};
    const Attended out = ring_attention(ranks, args);
    EXPECT_HEED_ERROR(
        ring_attention_backward(ranks, args, out, whole.dout, {.dscale = true}),
        ErrorCode::kUnsupported,
        "ring_attention_backward: request.dscale is asked for, expected dq, dk, dv or dsink");
  });
}

}  // namespace
}  // namespace heed
