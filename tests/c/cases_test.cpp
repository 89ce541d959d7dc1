// C computes the same as C++, bit for bit: results, gradients, plans.
#include "c/cases.h"

#include <gtest/gtest.h>

#include <string>

#include "attention/api/checked.h"
#include "attention/api/plan.h"
#include "heed/observe.h"

namespace heed::test {
namespace {

#define EXPECT_OK(status) EXPECT_EQ(status, HEED_OK) << heed_last_error()->message

void expect_bits(const ConstView& found, const ConstView& wanted, const char* what) {
  if (wanted.given()) {
    EXPECT_TRUE(same_bits(found, wanted)) << what;
  }
}

TEST(CAttention, GivesTheBitsOfCpp) {
  for (const CCase& each : c_cases()) {
    SCOPED_TRACE(each.name);
    const Attended wanted = attention(each.args);
    const Attended found = {room_like(wanted.out), room_like(wanted.lse), room_like(wanted.lse_low),
                            room_like(wanted.out_low)};
    const heed_attention_args args = each.in_c();
    const heed_attended into = as_c(found);
    EXPECT_OK(heed_attention(&args, &into));
    expect_bits(found.out, wanted.out, "out");
    expect_bits(found.lse, wanted.lse, "lse");
    expect_bits(found.lse_low, wanted.lse_low, "lse_low");
    expect_bits(found.out_low, wanted.out_low, "out_low");
  }
}

TEST(CAttention, OutAloneIsEnough) {
  const CCase each = plain_case("out alone");
  const Attended wanted = attention(each.args);
  const Tensor out = room_like(wanted.out);
  const heed_attention_args args = each.in_c();
  heed_attended into = heed_attended_default();
  into.out = as_c(out);
  EXPECT_OK(heed_attention(&args, &into));
  expect_bits(out, wanted.out, "out");
}

// [B, T, H, D] in memory, read and written.
TEST(CAttention, WritesThroughStrides) {
  const CCase each = plain_case("strides");
  const Attended wanted = attention(each.args);
  Tensor memory = Tensor::zeros({2, 9, 4, 6});
  const View out = memory.view().permute({0, 2, 1, 3});
  const heed_attention_args args = each.in_c();
  heed_attended into = heed_attended_default();
  into.out = as_c(out);
  EXPECT_OK(heed_attention(&args, &into));
  expect_bits(out, wanted.out, "out");
}

bool has_gradients(const CCase& each) {
  return !each.args.keys.page_table.given() && each.args.keys.ring_begin.empty() &&
         each.args.keys.k.dtype() != DType::kI8;
}

AttentionGradRequest all_gradients(const CCase& each) {
  const Scores& scores = each.args.scores;
  return {.dk = has_gradients(each),
          .dv = has_gradients(each),
          .dbias = scores.bias.given(),
          .dsink = scores.sink.given(),
          .dslope = scores.alibi.given(),
          .dscale = true};
}

struct Named {
  const char* name;
  Tensor AttentionGrads::* tensor;
  heed_view heed_gradients::* view;
};
constexpr Named kGradients[] = {{"dq", &AttentionGrads::dq, &heed_gradients::dq},
                                {"dk", &AttentionGrads::dk, &heed_gradients::dk},
                                {"dv", &AttentionGrads::dv, &heed_gradients::dv},
                                {"dbias", &AttentionGrads::dbias, &heed_gradients::dbias},
                                {"dslope", &AttentionGrads::dslope, &heed_gradients::dslope},
                                {"dsink", &AttentionGrads::dsink, &heed_gradients::dsink},
                                {"dscale", &AttentionGrads::dscale, &heed_gradients::dscale}};

// Runs `backward` with memory for the gradients that `wanted` has.
template <typename Backward>
void expect_gradients(const AttentionGrads& wanted, const Backward& backward) {
  AttentionGrads found;
  heed_gradients into = heed_gradients_default();
  for (const auto& [name, tensor, view] : kGradients) {
    if (!(wanted.*tensor).given()) continue;
    found.*tensor = room_like(wanted.*tensor);
    into.*view = as_c(found.*tensor);
  }
  EXPECT_OK(backward(&into));
  for (const auto& [name, tensor, view] : kGradients)
    expect_bits(found.*tensor, (wanted.*tensor).given() ? (wanted.*tensor).view() : ConstView(),
                name);
}

TEST(CBackward, GivesTheBitsOfCpp) {
  for (const CCase& each : c_cases()) {
    SCOPED_TRACE(each.name);
    const Attended left = attention(each.args);
    const Tensor dout = random_tensor(left.out.shape(), 7, each.dtype);
    AttentionGradRequest request = all_gradients(each);
    Tensor dlse;
    if (left.lse.given())
      request.dlse = dlse = random_tensor(left.lse.shape(), 8, left.lse.dtype());
    const AttentionGrads wanted = attention_backward(each.args, left, dout, request);
    const heed_attention_args args = each.in_c();
    const heed_attended attended = as_c(left);
    const heed_view dout_in_c = as_c(dout);
    const heed_view dlse_in_c = as_c(request.dlse);
    expect_gradients(wanted, [&](const heed_gradients* into) {
      return heed_attention_backward(&args, &attended, &dout_in_c, &dlse_in_c, into);
    });
  }
}

TEST(CObserveBackward, GivesTheBitsOfCpp) {
  for (const CCase& each : c_cases()) {
    if (each.args.scores.normaliser == Normaliser::kNone || is_packed(each.args.q)) continue;
    SCOPED_TRACE(each.name);
    const Attended left = attention(each.args);
    const DType type = each.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
    const Tensor dentropy = random_tensor({2, 4, 9}, 9, type);
    const AttentionGradRequest request = all_gradients(each);
    const AttentionGrads wanted =
        observe_backward(each.args, left, {.dentropy = dentropy}, request);
    const heed_attention_args args = each.in_c();
    const heed_attended attended = as_c(left);
    const heed_view dentropy_in_c = as_c(dentropy);
    expect_gradients(wanted, [&](const heed_gradients* into) {
      return heed_observe_backward(&args, &attended, &dentropy_in_c, nullptr, into);
    });
  }
}

TEST(CBackward, BiasGradientsGoThroughStridesToo) {
  CCase each = plain_case("bias");
  each.args.scores.bias = each.hold(random_tensor({4, 9, 13}, 5));
  const Attended left = attention(each.args);
  const Tensor dout = random_tensor(left.out.shape(), 7);
  const AttentionGrads wanted = attention_backward(each.args, left, dout, {.dbias = true});
  Tensor memory = Tensor::zeros({13, 9, 4});
  const View dbias = memory.view().permute({2, 1, 0});
  heed_gradients into = heed_gradients_default();
  into.dbias = as_c(dbias);
  const heed_attention_args args = each.in_c();
  const heed_attended attended = as_c(left);
  const heed_view dout_in_c = as_c(dout);
  EXPECT_OK(heed_attention_backward(&args, &attended, &dout_in_c, nullptr, &into));
  expect_bits(dbias, wanted.dbias, "dbias");
}

void expect_plan(const heed_plan& found, const Plan& wanted, const char* title) {
  EXPECT_EQ(found.size, sizeof(heed_plan));
  EXPECT_EQ(found.text, plan_text(title, wanted));
  EXPECT_EQ(found.kernel, wanted.kernel);
  EXPECT_EQ(found.mask, wanted.mask);
  EXPECT_EQ(found.alignment, wanted.alignment);
  EXPECT_EQ(found.allowed_pairs, wanted.allowed_pairs);
  EXPECT_EQ(found.flop, wanted.flop);
  EXPECT_EQ(found.bytes, wanted.bytes);
  EXPECT_EQ(found.workspace_bytes, wanted.workspace_bytes);
  ASSERT_EQ(found.refusal_count, std::ssize(wanted.refusals));
  for (std::size_t i = 0; i < wanted.refusals.size(); ++i) {
    EXPECT_EQ(found.refused[i], wanted.refusals[i].kernel);
    EXPECT_EQ(found.reasons[i], wanted.refusals[i].reason);
  }
}

TEST(CPlan, SaysWhatCppSays) {
  for (const CCase& each : c_cases()) {
    SCOPED_TRACE(each.name);
    const heed_attention_args args = each.in_c();
    const heed_plan* plan = nullptr;
    EXPECT_OK(heed_plan_attention(&args, &plan));
    expect_plan(*plan, plan_attention(each.args), "forward");
    heed_plan_free(plan);
    if (!has_gradients(each)) continue;
    EXPECT_OK(heed_plan_attention_backward(&args, nullptr, &plan));
    expect_plan(*plan, plan_attention_backward(each.args), "backward");
    heed_plan_free(plan);
  }
}

}  // namespace
}  // namespace heed::test
