// Beam search compared with an exhaustive search; beam_search_golden_test.cpp compares with
// transformers.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "generate/letters.h"
#include "heed/generate.h"
#include "heed/model.h"
#include "support/expect_error.h"
#include "support/tiny_configs.h"
#include "text/word_level.h"

namespace heed {
namespace {

using test::ids_of;
using Ids = std::vector<TokenId>;

constexpr std::int64_t kVocabulary = 6;

// Weights far from flat, so that texts differ in probability; token 5 ends a text.
std::unique_ptr<Model> of_six_tokens(std::int64_t positions = 12) {
  auto model = make_model(R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 16,
    "vocab_size": 6, "eos_token_id": 5, "n_positions": )" +
                              std::to_string(positions) + "}",
                          1);
  test::sharpen(*model);
  return model;
}

// log softmax behind `text`, by a whole pass.
std::vector<double> log_probabilities(const Model& model, Ids text) {
  heed::Run run;
  run.last_position_only = true;
  const View ids(text.data(), DType::kI32, {1, std::ssize(text)});
  const Tensor logits = model.forward({.ids = ids}, run);
  double sum = 0;
  for (int id = 0; id < kVocabulary; ++id) sum += std::exp(double{logits.data<float>()[id]});
  std::vector<double> all;
  for (int id = 0; id < kVocabulary; ++id) all.push_back(logits.data<float>()[id] - std::log(sum));
  return all;
}

struct Scored {
  Ids ids;
  double score = -HUGE_VAL;
};

// The best of all texts of at most `left` more tokens that end with token 5 or with their length.
Scored best_text(const Model& model, const Ids& prompt, const Ids& text, double log_probability,
                 std::int64_t left, double penalty) {
  Ids whole = prompt;
  whole.insert(whole.end(), text.begin(), text.end());
  Scored best;
  const std::vector<double> behind = log_probabilities(model, whole);
  for (TokenId id = 0; id < kVocabulary; ++id) {
    Scored one = {.ids = text};
    one.ids.push_back(id);
    const double its = log_probability + behind[static_cast<std::size_t>(id)];
    if (id == 5 || left == 1)
      one.score = its / std::pow(static_cast<double>(one.ids.size()), penalty);
    else
      one = best_text(model, prompt, one.ids, its, left - 1, penalty);
    if (one.score > best.score) best = one;
  }
  return best;
}

TEST(BeamSearch, WithBeamsForEveryTextItFindsTheBest) {
  const auto model = of_six_tokens();
  for (const double penalty : {0.0, 1.0, 2.5, -1.0})
    for (const Ids& prompt : {Ids{1}, Ids{0, 3, 2}}) {
      const Scored best = best_text(*model, prompt, {}, 0, 4, penalty);
      const Generated found = generate(*model, {.prompts = {prompt},
                                                .most_tokens = 4,
                                                .beams = 6 * 6 * 6 * 6,
                                                .length_penalty = penalty})[0];
      EXPECT_EQ(ids_of(found), best.ids) << penalty;
      EXPECT_NEAR(found.score, best.score, 1e-4);
    }
}

TEST(BeamSearch, ATextDoesNotDependOnWhatElseIsInTheBatch) {
  const auto model = of_six_tokens();
  const std::vector<Ids> prompts = {{1}, {0, 3, 2, 4}, {2, 2}};
  const auto search = [&](std::vector<Ids> which) {
    return generate(*model, {.prompts = std::move(which), .most_tokens = 8, .beams = 3});
  };
  const auto together = search(prompts);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const Generated alone = search({prompts[i]})[0];
    EXPECT_EQ(ids_of(together[i]), ids_of(alone)) << i;
    EXPECT_EQ(together[i].score, alone.score) << i;
  }
}

TEST(BeamSearch, ProbabilitiesAreThoseOfTheModel) {
  const auto model = of_six_tokens();
  const Generated found =
      generate(*model, {.prompts = {{1, 2}}, .most_tokens = 5, .beams = 4, .length_penalty = 0})[0];
  double log_probability = 0;
  Ids text = {1, 2};
  for (const GeneratedToken& token : found.tokens) {
    const double expected = log_probabilities(*model, text)[static_cast<std::size_t>(token.id)];
    EXPECT_NEAR(std::log(token.probability), expected, 1e-5);
    log_probability += expected;
    text.push_back(token.id);
  }
  EXPECT_NEAR(found.score, log_probability, 1e-4);
}

TEST(BeamSearch, EndsWhereTheLengthOrThePositionsDo) {
  const auto model = of_six_tokens(6);
  const auto search = [&](std::int64_t most_tokens) {
    return generate(
        *model,
        {.prompts = {{1, 2}}, .most_tokens = most_tokens, .stop_at_end = false, .beams = 3})[0];
  };
  EXPECT_EQ(search(3).tokens.size(), 3U);
  EXPECT_EQ(search(3).stopped, Stopped::kLength);
  EXPECT_EQ(search(9).tokens.size(), 5U);  // four with a position, and one that is not read
  EXPECT_EQ(search(9).stopped, Stopped::kPositions);
}

TEST(BeamSearch, AStopStringEndsATextLikeItsEnd) {
  const auto model = of_six_tokens();
  const auto letters = train_characters("abcdef");
  const auto search = [&](std::vector<std::string> stop) {
    return generate(*model, {.prompts = {{1}},
                             .most_tokens = 6,
                             .tokenizer = letters.get(),
                             .stop = std::move(stop),
                             .stop_at_end = false,
                             .beams = 2})[0];
  };
  const std::string whole = search({}).text;
  ASSERT_EQ(whole.size(), 6U);
  const std::string stop = whole.substr(1, 2);
  const Generated ended = search({stop});
  EXPECT_EQ(ended.stopped, Stopped::kStop);
  EXPECT_EQ(ended.text.find(stop), std::string::npos);
  EXPECT_GT(ended.tokens.size(), ended.text.size());
}

// Stops after some tokens, and hears what comes.
class Listener : public GenerateListener {
 public:
  explicit Listener(int steps) : steps_(steps) {}
  void token(std::size_t, const GeneratedToken& token) override { heard.push_back(token.id); }
  bool stop() override { return steps_-- == 0; }

  Ids heard;

 private:
  int steps_;
};

TEST(BeamSearch, TheListenerHearsTheBestTextWhenTheSearchHasEnded) {
  const auto model = of_six_tokens();
  const GenerateArgs args = {.prompts = {{1}}, .most_tokens = 6, .stop_at_end = false, .beams = 3};
  Listener patient(100);
  const Generated whole = generate(*model, args, patient)[0];
  EXPECT_EQ(patient.heard, ids_of(whole));
  Listener hasty(2);
  const Generated part = generate(*model, args, hasty)[0];
  EXPECT_EQ(part.stopped, Stopped::kInterrupted);
  EXPECT_EQ(part.tokens.size(), 2U);
  EXPECT_EQ(hasty.heard, ids_of(part));
}

TEST(BeamSearch, NoPromptsGiveNoTexts) {
  EXPECT_TRUE(generate(*of_six_tokens(), {.beams = 2}).empty());
}

TEST(BeamSearch, BadArgumentsAreNamed) {
  const auto model = of_six_tokens();
  EXPECT_HEED_ERROR(generate(*model, {.prompts = {{1}}, .beams = 0}), ErrorCode::kInvalidArgument,
                    "generate: beams is 0, expected 1 to 4096");
  EXPECT_HEED_ERROR(generate(*model, {.prompts = {{1}}, .beams = 2, .length_penalty = NAN}),
                    ErrorCode::kInvalidArgument,
                    "generate: length_penalty is nan, expected a finite number");
}

}  // namespace
}  // namespace heed
