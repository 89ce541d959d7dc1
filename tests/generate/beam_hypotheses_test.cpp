// All texts at the end of a beam search.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "generate/beam_search.h"
#include "support/family_sessions.h"

namespace heed {
namespace {

GenerateArgs args_for(const Model& model, std::int64_t beams) {
  GenerateArgs args{.prompts = {{static_cast<TokenId>(model.info().first_token)}},
                    .most_tokens = 5,
                    .beams = beams};
  if (model.info().reads_source()) args.sources = {{3, 4, 5, 4}};
  return args;
}

TEST(BeamHypotheses, ComeInOrderAndTheFirstIsTheSearchsAnswer) {
  GenerateListener silent;
  for (const test::FamilyVariant& variant : test::kFamilyVariants) {
    const LoadedModel model = test::family_model(variant);
    if (!model.model->info().reads_source()) continue;
    const GenerateArgs args = args_for(*model.model, 3);
    const auto all = beam_hypotheses(*model.model, args, silent).front();
    const Generated best = beam_search(*model.model, args, silent).front();
    ASSERT_FALSE(all.empty());
    EXPECT_LE(all.size(), 3U);
    EXPECT_EQ(all.front().score, best.score);
    std::set<std::vector<TokenId>> texts;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i > 0) {
        EXPECT_LE(all[i].score, all[i - 1].score);
      }
      std::vector<TokenId> ids;
      for (const GeneratedToken& token : all[i].tokens) ids.push_back(token.id);
      EXPECT_TRUE(texts.insert(ids).second) << "the same text twice";
    }
  }
}

}  // namespace
}  // namespace heed
