// The errors of C's questions, in terms of their struct.
#include <gtest/gtest.h>

#include <cstdint>

#include "c/observed.h"

namespace heed::test {
namespace {

class CObserveErrors : public CObserve {
 protected:
  void expect_error(heed_observation asked, const char* message) const {
    EXPECT_EQ(ask(asked), HEED_INVALID_ARGUMENT);
    EXPECT_STREQ(heed_last_error()->message, message);
  }
  Tensor room = Tensor::zeros({2, 4, 9});
  heed_observation entropy = heed_observation_of(HEED_OBSERVE_ENTROPY, as_c(room));
};

TEST_F(CObserveErrors, OfAnUnknownKind) {
  entropy.kind = 15;
  expect_error(entropy,
               "observe: observations[0].kind is 15, expected 1 (HEED_OBSERVE_WEIGHTS) to 14 "
               "(HEED_OBSERVE_OFFSET_PROFILE)");
  entropy.kind = 0;
  EXPECT_EQ(ask(entropy), HEED_INVALID_ARGUMENT);
}

TEST_F(CObserveErrors, OfTheAnswersMemory) {
  heed_observation asked = entropy;
  asked.answer = heed_view{};
  expect_error(asked,
               "observe: observations[0].answer is not given, expected memory for the answer");
  asked = entropy;
  asked.answer.shape[2] = 8;
  expect_error(asked, "observe: observations[0].answer.shape is [2, 4, 8], expected [2, 4, 9]");
  asked = entropy;
  asked.answer.dtype = HEED_I32;
  expect_error(asked, "observe: observations[0].answer is i32, expected f32");
  asked = entropy;
  asked.answer = as_c(left.lse);
  expect_error(asked,
               "observe: observations[0].answer is in the memory of attended.lse, expected memory "
               "of its own");
  asked = entropy;
  asked.second = as_c(room);
  expect_error(asked,
               "observe: observations[0].second is given, expected none (entropy has one answer)");
}

TEST_F(CObserveErrors, OfSettings) {
  heed_observation asked = entropy;
  asked.kind = HEED_OBSERVE_TOP_K;
  expect_error(asked, "top_k: observations[0].k is 0, expected 1 to 1048576");
  asked.kind = HEED_OBSERVE_REGION;
  asked.value = 5;
  expect_error(asked,
               "observe: observations[0].value is 5, expected 0 (weights) to 4 (before the mask)");
  asked.value = 0;
  asked.region.row_end = 10;
  expect_error(asked, "region: observations[0].region.rows is [0, 10), expected at most [0, 9)");
  asked.kind = HEED_OBSERVE_HEATMAP;
  asked.pool = -1;
  expect_error(asked, "observe: observations[0].pool is -1, expected 0 (max), 1 (mean) or 2 (sum)");
  asked.pool = 0;
  expect_error(asked, "heatmap: observations[0].height is 0, expected at least 1");
  asked = entropy;
  asked.by_value_norm = 1;
  expect_error(asked,
               "value_norm: observations[0].by_value_norm is entropy, expected one of weights "
               "(weights times norms have no logarithms)");
  asked.by_value_norm = 2;
  expect_error(asked, "observe: observations[0].by_value_norm is 2, expected 0 or 1");
}

TEST_F(CObserveErrors, OfLists) {
  heed_observation asked = entropy;
  asked.kind = HEED_OBSERVE_ROWS;
  asked.chosen = {kChosen, 3};
  const std::int64_t falling[] = {3, 0};
  asked.heads = {falling, 2};
  expect_error(asked, "selection: observations[0].heads is 3 before 0, expected rising indices");
  asked = entropy;
  asked.kind = HEED_OBSERVE_MASS;
  asked.classes = 2;
  asked.key_classes = {kClasses, 13};
  expect_error(asked, "mass: observations[0].key_classes[4] is 2, expected -1 to 1");
  asked.classes = 3;
  asked.key_classes.count = 12;
  expect_error(
      asked,
      "mass: observations[0].key_classes is a list of 12, expected 13 entries (one per key)");
  const std::int64_t wide[] = {std::int64_t{1} << 40};
  asked.key_classes = {wide, 1};
  expect_error(asked, "observe: observations[0].key_classes[0] is 1099511627776, expected -1 to 2");
}

TEST_F(CObserveErrors, OfTheListOfQuestions) {
  const heed_attention_args args = each.in_c();
  const heed_attended attended = as_c(left);
  const heed_observation* const asked[] = {&entropy, nullptr};
  EXPECT_EQ(heed_observe(&args, &attended, asked, 2), HEED_INVALID_ARGUMENT);
  EXPECT_STREQ(heed_last_error()->message, "observe: observations[1] is a null pointer");
  EXPECT_EQ(heed_observe(&args, &attended, nullptr, 1), HEED_INVALID_ARGUMENT);
  EXPECT_STREQ(heed_last_error()->message, "observe: observations is a null pointer");
  EXPECT_EQ(heed_observe(&args, &attended, asked, -1), HEED_INVALID_ARGUMENT);
  EXPECT_STREQ(heed_last_error()->message, "observe: count is -1, expected 0 to 4096");
}

TEST_F(CObserveErrors, OfTwoAnswersInOnePlace) {
  const heed_attention_args args = each.in_c();
  const heed_attended attended = as_c(left);
  const heed_observation* const asked[] = {&entropy, &entropy};
  EXPECT_EQ(heed_observe(&args, &attended, asked, 2), HEED_INVALID_ARGUMENT);
  EXPECT_STREQ(heed_last_error()->message,
               "observe: observations[1].answer is in the memory of observations[0].answer, "
               "expected memory of its own");
}

}  // namespace
}  // namespace heed::test
