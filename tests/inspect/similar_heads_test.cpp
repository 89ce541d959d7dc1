#include "inspect/heads/similar_heads.h"

#include <gtest/gtest.h>

#include "inspect/patterns.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using test::kSure;

// Head 0 looks one back, head 1 at the first token, head 2 everywhere.
Session three_heads() {
  std::vector<LayerAttention> layers;
  layers.push_back(test::layer_of(3, 100, [](std::int64_t head, std::int64_t i, std::int64_t j) {
    if (head == 2) return 0.0F;
    return j == (head == 0 ? i - 1 : 0) ? kSure : 0.0F;
  }));
  return test::session_of(std::move(layers));
}

std::vector<SimilarHead> similar(const PatternExample& example) {
  Cancel cancel;
  return similar_heads(three_heads(), Stack::kSelf, example, cancel);
}

TEST(SimilarHeads, PutsTheHeadItselfFirst) {
  const std::vector<SimilarHead> heads = similar({.head = Place{.head = 1}});
  ASSERT_EQ(heads.size(), 3U);
  EXPECT_EQ(heads[0].place.head, 1);
  EXPECT_NEAR(heads[0].overlap, 1, 1e-6);
}

TEST(SimilarHeads, OfAnOffsetFindsPreviousTokenHeads) {
  const std::vector<SimilarHead> heads = similar({.back = 1});
  EXPECT_EQ(heads[0].place.head, 0);
  EXPECT_NEAR(heads[0].overlap, 1, 1e-6);
}

TEST(SimilarHeads, OfADrawnRowIsTheShareThatLiesWhereItWasDrawn) {
  const std::vector<SimilarHead> heads =
      similar({.rows = {{.query = 99, .keys = {0, 98}, .weights = {3, 1}}}});
  EXPECT_EQ(heads[0].place.head, 1);
  EXPECT_NEAR(heads[0].overlap, 0.75, 1e-6);
  EXPECT_EQ(heads[1].place.head, 0);
  EXPECT_NEAR(heads[1].overlap, 0.25, 1e-6);
  EXPECT_NEAR(heads[2].overlap, 0.02, 1e-6);
}

TEST(SimilarHeads, RefuseWhatIsNoPattern) {
  EXPECT_HEED_ERROR(similar({}), ErrorCode::kInvalidArgument,
                    "pattern: example is 0 of head, back and rows, expected one of them");
  EXPECT_HEED_ERROR(similar({.rows = {{.query = 100, .keys = {0}}}}), ErrorCode::kNotFound,
                    "pattern: query is 100, expected 0 to 99, a token of the text");
  EXPECT_HEED_ERROR(similar({.rows = {{.query = 1, .keys = {0}, .weights = {-1}}}}),
                    ErrorCode::kInvalidArgument,
                    "pattern: weights is negative, not finite or all 0, expected weights of which "
                    "some is above 0");
}

}  // namespace
}  // namespace heed
