// Beam search compared with transformers.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "heed/generate.h"
#include "heed/model.h"
#include "support/shared_data.h"

namespace heed {
namespace {

using Ids = std::vector<TokenId>;

// What `generate(..., num_beams=N, do_sample=False)` of transformers 5.23 gives, and
// `sequences_scores`.
struct Golden {
  const char* model;
  Ids text;  // the source of an encoder-decoder, else the prompt
  std::int64_t most_tokens, beams;
  double length_penalty;
  EarlyStopping early_stopping;
  double repetition_penalty;
  Ids answer;
  double score;
};

// clang-format off
const Golden kGoldens[] = {
    {"aren-transliteration", {19, 10, 14, 16, 13, 53}, 12, 2, 1.0, EarlyStopping::kFalse, 1.0,
     {74, 62, 54, 66, 60, 69, 63, 54, 64, 53}, -0.4184349},
    {"aren-transliteration", {19, 10, 14, 16, 13, 53}, 12, 4, 1.0, EarlyStopping::kFalse, 1.0,
     {74, 62, 54, 66, 60, 69, 63, 54, 64, 53}, -0.4184349},
    {"aren-transliteration", {19, 10, 14, 16, 13, 53}, 12, 7, 1.0, EarlyStopping::kFalse, 1.0,
     {74, 62, 54, 66, 60, 69, 63, 54, 64, 53}, -0.4184348},
    {"aren-transliteration", {5, 26, 18, 7, 53}, 12, 3, 0.0, EarlyStopping::kFalse, 1.0,
     {76, 54, 63, 58, 54, 64, 53}, -2.981074},
    {"aren-transliteration", {5, 26, 18, 7, 53}, 12, 3, 2.0, EarlyStopping::kFalse, 1.0,
     {76, 54, 63, 58, 59, 65, 64, 53}, -0.05893185},
    {"aren-transliteration", {5, 26, 18, 7, 53}, 12, 3, -1.0, EarlyStopping::kFalse, 1.0,
     {76, 54, 63, 58, 54, 64, 53}, -20.86752},
    {"aren-transliteration", {5, 26, 18, 7, 53}, 12, 4, 1.5, EarlyStopping::kTrue, 1.0,
     {76, 54, 63, 58, 54, 64, 53}, -0.1609628},
    {"aren-transliteration", {5, 26, 18, 7, 53}, 12, 4, 1.5, EarlyStopping::kNever, 1.0,
     {76, 54, 63, 58, 54, 64, 53}, -0.1609628},
    {"tiny/marian", {7, 31, 12, 55, 0}, 8, 4, 1.0, EarlyStopping::kFalse, 1.0,
     {61, 22, 22, 73, 61, 22, 61, 22}, -1.117969},
    {"tiny/marian", {7, 31, 12, 55, 0}, 8, 3, 1.0, EarlyStopping::kFalse, 1.4,
     {61, 22, 22, 73, 61, 22, 61, 22}, -1.388717},
    {"tiny/gpt2", {5, 17, 40}, 10, 5, 1.0, EarlyStopping::kFalse, 1.0,
     {46, 46, 76, 76, 76, 76, 76, 76, 76, 76}, -0.1822725},
    {"tiny/llama", {3, 9, 22, 6}, 9, 3, 0.5, EarlyStopping::kFalse, 1.2,
     {94, 75, 75, 75, 71, 6, 29, 36, 96}, -7.163485},
    {"stories260k", {1, 403, 407}, 20, 4, 1.0, EarlyStopping::kFalse, 1.0,
     {261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426, 338, 401, 396, 267, 337, 410,
      408}, -0.1543085},
};
// clang-format on

class BeamSearchGolden : public testing::TestWithParam<Golden> {};

TEST_P(BeamSearchGolden, TextAndScoreAreThoseOfTransformers) {
  const Golden& golden = GetParam();
  HEED_NEEDS_SHARED(std::string("models/") + golden.model);
  const auto folder = test::shared_data() / "models" / golden.model;
  const LoadedModel loaded = load_model(folder, {.tokenizers = false});
  GenerateArgs args = {.prompts = {golden.text},
                       .most_tokens = golden.most_tokens,
                       .sampling = {.repetition_penalty = golden.repetition_penalty},
                       .beams = golden.beams,
                       .length_penalty = golden.length_penalty,
                       .early_stopping = golden.early_stopping};
  const ModelInfo& info = loaded.model->info();
  if (info.reads_source()) {
    args.sources = std::move(args.prompts);
    args.prompts = {{static_cast<TokenId>(info.first_token)}};
  }
  const Generated found = generate(*loaded.model, args)[0];
  Ids ids;
  for (const GeneratedToken& token : found.tokens) ids.push_back(token.id);
  EXPECT_EQ(ids, golden.answer) << golden.model << ", " << golden.beams << " beams";
  EXPECT_NEAR(found.score, golden.score, 1e-4 * (1 + std::abs(golden.score)));
}

INSTANTIATE_TEST_SUITE_P(All, BeamSearchGolden, testing::ValuesIn(kGoldens),
                         [](const auto& each) { return std::to_string(each.index); });

}  // namespace
}  // namespace heed
