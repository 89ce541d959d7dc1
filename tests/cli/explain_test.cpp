// heed explain as a user runs it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/inputs.h"
#include "cli/program.h"
#include "heed/attention.h"
#include "support/key_forms.h"
#include "support/random_tensor.h"

namespace heed::cli {
namespace {

using test::Answer;
using test::list_of;
using test::written;

nlohmann::json forward_plan(const char* shape, std::vector<std::string> more) {
  more.insert(more.begin(), {"explain", "--json", "--shape", shape});
  const Answer answer = test::heed(more);
  EXPECT_EQ(answer.status, 0) << answer.error;
  return nlohmann::json::parse(answer.out)["forward"];
}

TEST(ExplainCommand, CountsTheWorkOfAllowedPairs) {
  const auto plan = forward_plan("1,4,2,16,16,8,4", {"--causal", "bottom-right"});
  EXPECT_EQ(plan["allowed_pairs"], 4 * 16 * 17 / 2);
  EXPECT_EQ(plan["flop"], 2.0 * (8 + 4) * 4 * 16 * 17 / 2);
  EXPECT_EQ(plan["alignment"], "bottom-right");
}

TEST(ExplainCommand, CountsLongTextsWithoutWalkingThroughThem) {
  const std::int64_t n = 10'000'019;  // not a multiple of a tile
  const auto plan = forward_plan("1,1,1,10000019,10000019,64,64", {"--causal", "bottom-right"});
  EXPECT_EQ(plan["allowed_pairs"], n * (n + 1) / 2);
  const auto all = forward_plan("1,1,1,1073741824,1073741824,64,64", {});
  EXPECT_EQ(all["allowed_pairs"], std::int64_t{1} << 60);
}

TEST(ExplainCommand, AWindowIsCountedRowByRow) {
  const auto plan = forward_plan("1,2,2,1000,1300,8,8", {"--window", "99,0"});
  EXPECT_EQ(plan["allowed_pairs"], 2 * 1000 * 100);
}

// The plan of `heed attend --grad`: the gradient of a given scale is included by default.
TEST(ExplainCommand, PlansTheGradientsThatAreNamed) {
  const auto backward = [](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"explain", "--json", "--shape", "1,2,2,16,16,8,8", "--scale", "0.3"});
    const Answer answer = test::heed(more);
    EXPECT_EQ(answer.status, 0) << answer.error;
    return nlohmann::json::parse(answer.out)["backward"];
  };
  const ConstView x(nullptr, DType::kF32, {1, 2, 16, 8});
  const AttentionArgs args = {.q = x, .keys = {x, x}};
  EXPECT_EQ(backward({})["kernel"], plan_attention_backward(args, {.dscale = true}).kernel);
  EXPECT_EQ(backward({"--grad-of", "dq,dk"})["kernel"], plan_attention_backward(args).kernel);
}

TEST(ExplainCommand, AShapeThatCannotBeCountedIsRefused) {
  const auto refused = [](const char* shape, const std::string& message) {
    test::expect_refused({"explain", "--shape", shape}, message);
  };
  refused("1,8,8,-5,16,8,8", "--shape: Tq is -5, expected at least 0");
  refused("1,8,8,4294967296,4294967296,8,8",
          "--shape: the number of query and key pairs is 2.95e+20, expected below 2^62");
  refused("1,1,1,9223372036854775807,1,8,8",
          "--shape: the number of query and key pairs is 1.84e+19, expected below 2^62");
  refused("1,1,1,1,1,9223372036854775807,8",
          "--shape: the arrays' size in bytes is 2.95e+20, expected below 2^62");
  refused("1,8,8,16,16,8", "--shape is given too few values, expected B,H,G,Tq,Tk,D,Dv");
  refused("1,8,8,16,16,8,99999999999999999999",
          "--shape is \"99999999999999999999\", expected a whole number of at most "
          "9223372036854775807");
}

// B 2, H 4, G 2, Tq 3, D 40, Dv 24; 21 and 9 keys: what `heed attend` takes.
class ExplainKeys : public testing::Test {
 protected:
  const std::vector<std::int64_t> lengths = {21, 9};
  Tensor q = test::random_tensor({2, 4, 3, 40}, 1);

  static test::HeldKeys rows(DType dtype) {
    return test::held_as(test::random_tensor({2, 2, 21, 40}, 2),
                         test::random_tensor({2, 2, 21, 24}, 3), dtype);
  }

  std::vector<std::string> arguments(const test::HeldKeys& held,
                                     const std::vector<std::string>& options) const {
    std::vector<std::string> all = {"explain",
                                    written("q.npy", q),
                                    written("k.npy", held.k),
                                    written("v.npy", held.v),
                                    "--key-lengths",
                                    list_of("lengths.npy", lengths)};
    if (held.table.given())
      all.insert(all.end(), {"--page-table", written("table.npy", held.table)});
    if (!held.ring_begin.empty())
      all.insert(all.end(), {"--ring-begin", list_of("begin.npy", held.ring_begin)});
    if (held.k_scales.given())
      all.insert(all.end(), {"--k-scales", written("ks.npy", held.k_scales), "--v-scales",
                             written("vs.npy", held.v_scales)});
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }

  // Compares the printed plan with the operator's.
  void expect_plans(const test::HeldKeys& held, const nlohmann::json& inputs) const {
    const Answer answer = test::heed(arguments(held, {"--json"}));
    ASSERT_EQ(answer.status, 0) << answer.error;
    const auto found = nlohmann::json::parse(answer.out);
    EXPECT_EQ(found["inputs"], inputs);
    AttentionArgs args = {.q = q, .keys = held.keys()};
    args.extents.key_length = lengths;
    const Plan forward = plan_attention(args);
    EXPECT_EQ(found["forward"]["kernel"], forward.kernel);
    EXPECT_EQ(found["forward"]["allowed_pairs"], 4 * 3 * (21 + 9));
    EXPECT_EQ(found["forward"]["bytes"], forward.bytes);
    EXPECT_EQ(found["backward"]["kernel"],
              plan_attention_backward(args, {.dk = false, .dv = false}).kernel);
  }
};

TEST_F(ExplainKeys, InPages) {
  expect_plans(test::paged(rows(DType::kF32), 4, lengths),
               {{"q", "f32"}, {"k", "f32"}, {"v", "f32"}, {"keys", "pages of 4"}});
}

TEST_F(ExplainKeys, OfInt8InPages) {
  expect_plans(test::paged(rows(DType::kI8), 16, lengths, DType::kI64),
               {{"q", "f32"}, {"k", "i8"}, {"v", "i8"}, {"keys", "pages of 16"}});
}

TEST_F(ExplainKeys, OfInt8InRows) {
  expect_plans(rows(DType::kI8), {{"q", "f32"}, {"k", "i8"}, {"v", "i8"}, {"keys", "contiguous"}});
}

TEST_F(ExplainKeys, OfHalvesInARing) {
  expect_plans(test::ring(rows(DType::kF16), 25, {24, 3}, lengths),
               {{"q", "f32"}, {"k", "f16"}, {"v", "f16"}, {"keys", "a ring of 25"}});
}

TEST_F(ExplainKeys, AsTextInTheTypeThatIsComputedIn) {
  const Answer answer =
      test::heed(arguments(test::paged(rows(DType::kF32), 4, lengths), {"--dtype", "bf16"}));
  EXPECT_EQ(answer.status, 0) << answer.error;
  EXPECT_EQ(answer.out.substr(0, answer.out.find('\n')),
            "inputs     q bf16, k bf16, v bf16; keys in pages of 4");
}

TEST_F(ExplainKeys, ThatAreNotThereHaveNoForm) {
  for (const std::string option : {"--page-table", "--ring-begin", "--k-scales", "--v-scales"})
    test::expect_refused({"explain", "--shape", "1,2,2,4,4,8,8", option, list_of("begin.npy", {0})},
                         option + " needs Q.npy K.npy V.npy");
}

}  // namespace
}  // namespace heed::cli
