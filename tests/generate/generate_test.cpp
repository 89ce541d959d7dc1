#include "heed/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "generate/letters.h"
#include "heed/model.h"
#include "heed/threads.h"
#include "io/tensor_files.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/shared_data.h"
#include "text/word_level.h"

namespace heed {
namespace {

using test::ids_of;
using test::letters_model;
using Ids = std::vector<TokenId>;

const Sampling kGreedy = {.temperature = 0};
const Sampling kAsIs = {.temperature = 1};

const Tokenizer& letters() {
  static const auto tokenizer = train_characters("abcdefghijk");
  return *tokenizer;
}

// Logits of the last token by a whole pass.
Tensor last_logits(const Model& model, Ids text) {
  heed::Run run;
  run.last_position_only = true;
  const View ids(text.data(), DType::kI32, {1, std::ssize(text)});
  return model.forward({.ids = ids}, run);
}

TEST(Generate, GreedyTokensAreThoseOfTransformers) {
  HEED_NEEDS_SHARED("models/tiny/gpt2");
  for (const char* name : {"gpt2", "gpt2-f16", "gpt2-hub-names", "gpt2-inverse-layer-scale"}) {
    const auto folder = test::shared_data() / "models/tiny" / name;
    const LoadedModel loaded = load_model(folder);
    const Safetensors golden = Safetensors::open(folder / "golden.safetensors");
    const Tensor prompt = test::ids_of(golden, "greedy_prompt");
    const Tensor expected = test::ids_of(golden, "greedy");
    const auto list = [](const Tensor& ids) {
      return Ids(ids.data<TokenId>(), ids.data<TokenId>() + ids.element_count());
    };
    const auto generated = generate(*loaded.model, {.prompts = {list(prompt)},
                                                    .most_tokens = expected.element_count(),
                                                    .sampling = kGreedy,
                                                    .stop_at_end = false});
    EXPECT_EQ(ids_of(generated[0]), list(expected)) << name;
  }
}

TEST(Generate, SortsEverySixDigits) {
  HEED_NEEDS_SHARED("models/gpt-nano-sort");
  const LoadedModel loaded = load_model(test::shared_data() / "models/gpt-nano-sort");
  GenerateArgs args = {.most_tokens = 6, .sampling = kGreedy};
  for (int number = 0; number < 729; ++number) {
    Ids digits;
    for (int rest = number, i = 0; i < 6; ++i, rest /= 3) digits.push_back(rest % 3);
    args.prompts.push_back(digits);
  }
  const std::vector<Generated> sorted = generate(*loaded.model, args);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    Ids expected = args.prompts[i];
    std::ranges::sort(expected);
    EXPECT_EQ(ids_of(sorted[i]), expected) << i;
  }
}

TEST(Generate, IsWhatPassesOverTheWholeTextWouldChoose) {
  const auto model = letters_model();
  const Generated got =
      generate(*model, {.prompts = {{3, 1}}, .most_tokens = 20, .sampling = kAsIs, .seed = 5})[0];
  Ids text = {3, 1};
  for (const GeneratedToken& token : got.tokens) {
    const Tensor logits = last_logits(*model, text);
    const auto all = choices({logits.data<float>(), 11}, kAsIs);
    EXPECT_EQ(token.id, choose(all, sampling_number(5, std::ssize(text))));
    double entropy = 0;
    for (const Choice& choice : all) entropy -= choice.probability * std::log(choice.probability);
    EXPECT_NEAR(token.probability, all[static_cast<std::size_t>(token.id)].probability, 1e-5);
    EXPECT_NEAR(token.entropy, entropy, 1e-5);
    text.push_back(token.id);
  }
  EXPECT_EQ(text.size(), 22U);
}

TEST(Generate, ProbabilityAndEntropyAreThoseBeforeTheFilters) {
  const auto model = letters_model();
  const GenerateArgs plain = {.prompts = {{3, 1}}, .most_tokens = 1, .sampling = kGreedy};
  GenerateArgs filtered = plain;
  filtered.sampling = {.repetition_penalty = 1, .temperature = 0.1, .top_k = 1};
  const GeneratedToken a = generate(*model, plain)[0].tokens[0];
  const GeneratedToken b = generate(*model, filtered)[0].tokens[0];
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.probability, b.probability);
  EXPECT_EQ(a.entropy, b.entropy);
  EXPECT_LT(b.probability, 1);
}

TEST(Generate, ATextDoesNotDependOnWhatElseIsInTheBatch) {
  const auto model = letters_model(", \"eos_token_id\": 4");  // so that rows end at different times
  GenerateArgs args = {.prompts = {{3}, {1, 2, 3, 5, 6, 7}, {8, 8}, {9, 0, 1, 5}, {3}},
                       .most_tokens = 12,
                       .sampling = kAsIs,
                       .seed = 9};
  const std::vector<Generated> together = generate(*model, args);
  const std::vector<std::vector<TokenId>> prompts = args.prompts;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    args.prompts = {prompts[i]};
    const Generated alone = generate(*model, args)[0];
    EXPECT_EQ(ids_of(alone), ids_of(together[i])) << i;
    EXPECT_EQ(alone.stopped, together[i].stopped) << i;
    for (std::size_t t = 0; t < alone.tokens.size(); ++t)
      EXPECT_NEAR(alone.tokens[t].probability, together[i].tokens[t].probability, 1e-6);
  }
}

// Rows end at different times, and their pages go on to others.
TEST(Generate, PagesOfTheCacheDoNotMatter) {
  const auto model = letters_model();
  GenerateArgs args = {.prompts = {{1, 2, 3}, {4}, {5, 6, 7, 8, 9}}, .most_tokens = 18};
  const auto expected = generate(*model, args);
  for (const std::int64_t size : {1, 4, 16}) {
    args.cache = {.form = KvForm::kPaged, .page_size = size};
    const auto found = generate(*model, args);
    for (std::size_t row = 0; row < found.size(); ++row) {
      EXPECT_EQ(ids_of(found[row]), ids_of(expected[row]));
      EXPECT_EQ(found[row].tokens[0].probability, expected[row].tokens[0].probability);
    }
  }
}

TEST(Generate, ANarrowCacheGivesNearlyTheSameProbabilities) {
  const auto model = letters_model();
  GenerateArgs args = {.prompts = {{1, 2, 3, 4, 5, 6}}, .most_tokens = 1, .sampling = kGreedy};
  const double exact = generate(*model, args)[0].tokens[0].probability;
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kI8}) {
    args.cache.dtype = dtype;
    const double found = generate(*model, args)[0].tokens[0].probability;
    EXPECT_NE(found, exact) << name(dtype);
    EXPECT_NEAR(found, exact, 0.05) << name(dtype);
  }
}

TEST(Generate, TheSeedDecidesTheText) {
  const auto model = letters_model();
  GenerateArgs args = {.prompts = {{3}}, .most_tokens = 20, .sampling = kAsIs, .seed = 1};
  const Ids first = ids_of(generate(*model, args)[0]);
  EXPECT_EQ(ids_of(generate(*model, args)[0]), first);
  args.seed = 2;
  EXPECT_NE(ids_of(generate(*model, args)[0]), first);
}

TEST(Generate, ThreadsDoNotMatter) {
  const auto model = letters_model();
  const GenerateArgs args = {
      .prompts = {{3, 4, 5}, {1}}, .most_tokens = 20, .sampling = kAsIs, .seed = 1};
  set_thread_count(1);
  const std::vector<Generated> one = generate(*model, args);
  set_thread_count(3);
  const std::vector<Generated> three = generate(*model, args);
  set_thread_count(0);
  for (std::size_t i = 0; i < one.size(); ++i)
    for (std::size_t t = 0; t < one[i].tokens.size(); ++t) {
      EXPECT_EQ(one[i].tokens[t].id, three[i].tokens[t].id);
      EXPECT_EQ(one[i].tokens[t].probability, three[i].tokens[t].probability);
    }
}

TEST(Generate, StopsWhereTheModelSaysSo) {
  const Ids text = ids_of(
      generate(*letters_model(), {.prompts = {{3}}, .most_tokens = 8, .sampling = kGreedy})[0]);
  const auto model = letters_model(", \"eos_token_id\": " + std::to_string(text[0]));
  GenerateArgs args = {
      .prompts = {{3}}, .most_tokens = 8, .sampling = kGreedy, .tokenizer = &letters()};
  const Generated got = generate(*model, args)[0];
  EXPECT_EQ(ids_of(got), Ids{text[0]});
  EXPECT_EQ(got.text, "");
  EXPECT_EQ(got.stopped, Stopped::kEnd);
  args.stop_at_end = false;
  EXPECT_EQ(ids_of(generate(*model, args)[0]), text);
}

TEST(Generate, StopsBeforeAStopString) {
  const auto model = letters_model();
  GenerateArgs args = {
      .prompts = {{3}}, .most_tokens = 12, .sampling = kAsIs, .seed = 3, .tokenizer = &letters()};
  const Generated whole = generate(*model, args)[0];
  ASSERT_EQ(whole.text.size(), 12U);
  const std::string stop = whole.text.substr(5, 3);
  args.stop = {"aaaaaaaa", stop};
  const Generated got = generate(*model, args)[0];
  EXPECT_EQ(got.text, whole.text.substr(0, whole.text.find(stop)));
  EXPECT_EQ(got.tokens.size(), whole.text.find(stop) + 3);
  EXPECT_EQ(got.stopped, Stopped::kStop);
}

TEST(Generate, StopsWhereThePositionsEnd) {
  const auto model = letters_model();
  const auto stopped = [&](std::int64_t prompt, std::int64_t most) {
    return generate(*model, {.prompts = {Ids(static_cast<std::size_t>(prompt), 3)},
                             .most_tokens = most,
                             .sampling = kAsIs})[0];
  };
  EXPECT_EQ(stopped(20, 100).tokens.size(), 5U);  // the last one needs no position
  EXPECT_EQ(stopped(20, 100).stopped, Stopped::kPositions);
  EXPECT_EQ(stopped(24, 100).tokens.size(), 1U);
  EXPECT_EQ(stopped(20, 5).stopped, Stopped::kLength);
  EXPECT_EQ(stopped(20, 4).stopped, Stopped::kLength);
  EXPECT_EQ(stopped(20, std::int64_t{1} << 62).stopped, Stopped::kPositions);
}

class Patient : public GenerateListener {
 public:
  void token(std::size_t row, const GeneratedToken& token) override {
    tokens.emplace_back(row, token.id);
  }
  void text(std::size_t row, std::string_view piece) override {
    texts.resize(std::max(texts.size(), row + 1));
    texts[row] += piece;
  }
  bool stop() override { return std::ssize(tokens) == stop_at; }

  std::vector<std::pair<std::size_t, TokenId>> tokens;
  std::vector<std::string> texts;
  std::int64_t stop_at = -1;
};

TEST(Generate, TellsTokensAndTextAsTheyCome) {
  const auto model = letters_model();
  Patient listener;
  const auto got = generate(
      *model,
      {.prompts = {{3}, {4, 5}}, .most_tokens = 5, .sampling = kAsIs, .tokenizer = &letters()},
      listener);
  ASSERT_EQ(listener.tokens.size(), 10U);
  EXPECT_EQ(listener.tokens[3], (std::pair<std::size_t, TokenId>{1, got[1].tokens[1].id}));
  EXPECT_EQ(listener.texts, (std::vector<std::string>{got[0].text, got[1].text}));
  EXPECT_EQ(got[0].text, letters().decode(ids_of(got[0]), true));
}

TEST(Generate, EndsWhenTheListenerSaysSo) {
  Patient listener;
  listener.stop_at = 3;
  const auto got =
      generate(*letters_model(), {.prompts = {{3}}, .most_tokens = 9, .sampling = kAsIs}, listener);
  EXPECT_EQ(got[0].tokens.size(), 3U);
  EXPECT_EQ(got[0].stopped, Stopped::kInterrupted);
}

TEST(Generate, NoPromptsGiveNoTexts) { EXPECT_TRUE(generate(*letters_model(), {}).empty()); }

TEST(Generate, AnEmptyPromptStartsFromTheFirstToken) {
  EXPECT_EQ(prompt_of(*letters_model(", \"bos_token_id\": 7"), letters(), ""), Ids{7});
  EXPECT_EQ(prompt_of(*letters_model(), letters(), "cab"), (Ids{2, 0, 1}));
  EXPECT_HEED_ERROR(prompt_of(*letters_model(), letters(), ""), ErrorCode::kInvalidArgument,
                    "generate: prompt is empty, expected at least one character (the model has no "
                    "first token to start from)");
}

// nanoGPT pads GPT-2's vocabulary to 50,304.
TEST(Generate, AVocabularyLargerThanTheTokenizersGoesOn) {
  const auto model = letters_model(R"(, "eos_token_id": null)");
  const auto few = train_characters("abc");
  std::int64_t without_text = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Generated generated = generate(*model, {.prompts = {{0, 9, 1}},
                                                  .most_tokens = 12,
                                                  .sampling = kAsIs,
                                                  .seed = seed,
                                                  .tokenizer = few.get()})[0];
    EXPECT_EQ(generated.tokens.size(), 12U);
    for (const GeneratedToken& token : generated.tokens) without_text += token.id > 2 ? 1 : 0;
    EXPECT_LE(generated.text.size(), 12U);
  }
  EXPECT_GT(without_text, 0);
}

TEST(Generate, CroppedTextsGoOnPastTheModelsPositions) {
  const auto model = letters_model(R"(, "eos_token_id": null)");
  const Ids prompt = {1, 2, 3};
  GenerateArgs args = {.prompts = {prompt, {4}}, .most_tokens = 40, .sampling = kGreedy};
  EXPECT_EQ(generate(*model, args)[0].stopped, Stopped::kPositions);
  args.crop = true;
  const auto generated = generate(*model, args);
  for (const Generated& one : generated) {
    EXPECT_EQ(one.tokens.size(), 40U);
    EXPECT_EQ(one.stopped, Stopped::kLength);
  }
  Ids text = prompt;
  for (const GeneratedToken& token : generated[0].tokens) {
    const std::int64_t seen = std::min<std::int64_t>(std::ssize(text), 24);
    const Tensor logits = last_logits(*model, Ids(text.end() - seen, text.end()));
    const float* const row = logits.data<float>();
    EXPECT_NEAR(row[token.id], *std::max_element(row, row + 11), 1e-4);
    text.push_back(token.id);
  }
  args = {.prompts = {Ids(30, 5)}, .most_tokens = 3, .sampling = kGreedy, .crop = true};
  EXPECT_EQ(generate(*model, args)[0].tokens.size(), 3U);
}

}  // namespace
}  // namespace heed
