#include <gtest/gtest.h>

#include <cmath>

#include "heed/look.h"
#include "inspect/models.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using test::tales;

TEST(PronounProbe, CountsSentencesInWhichTheNounHasMoreWeight) {
  const std::vector<PronounHead> heads = probe_pronouns(tales(), {.sentences = 20});
  const ModelInfo& info = tales().model->info();
  ASSERT_EQ(heads.size(), static_cast<std::size_t>(info.layers * info.heads));
  for (const PronounHead& head : heads) {
    const double count = head.right * 20;
    EXPECT_NEAR(count, std::round(count), 1e-9);
    EXPECT_GE(head.noun + head.other, 0);
    EXPECT_LE(head.noun + head.other, 1);
  }
  EXPECT_EQ(heads.back().place.layer, info.layers - 1);
}

TEST(PronounProbe, OneSentenceDecidesByItsTwoWeights) {
  for (const PronounHead& head : probe_pronouns(tales(), {.sentences = 1}))
    EXPECT_EQ(head.right, head.noun > head.other ? 1 : 0);
}

TEST(PronounProbe, IsAFunctionOfItsSeed) {
  const auto first = [](std::uint64_t seed) {
    return probe_pronouns(tales(), {.sentences = 3, .seed = seed})[0].noun;
  };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
}

TEST(PronounProbe, RefusesAModelThatReadsNoText) {
  EXPECT_HEED_ERROR(probe_pronouns(test::tiny(1)), ErrorCode::kInvalidArgument,
                    "session: text is given, expected token ids; tiny has no tokenizer");
  EXPECT_HEED_ERROR(probe_pronouns(tales(), {.sentences = 0}), ErrorCode::kInvalidArgument,
                    "probe: sentences is 0, expected at least 1");
}

}  // namespace
}  // namespace heed
