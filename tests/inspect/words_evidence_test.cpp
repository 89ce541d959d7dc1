// What a model says word by word, in every family: the lens, how likely tokens were, branches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "generate/forward.h"
#include "heed/error.h"
#include "inspect/answers/live_session.h"
#include "inspect/answers/questions.h"
#include "inspect/evidence/branch.h"
#include "inspect/evidence/read_out.h"
#include "inspect/session/session_input.h"
#include "io/atomic_file.h"
#include "support/expect_error.h"
#include "support/family_sessions.h"
#include "support/random_tensor.h"
#include "support/scratch.h"

namespace heed {
namespace {

using test::family_model;
using test::kNever;
using test::largest_difference;

class WordsOf : public testing::TestWithParam<test::FamilyVariant> {};

INSTANTIATE_TEST_SUITE_P(Families, WordsOf, testing::ValuesIn(test::kFamilyVariants),
                         [](const auto& of) { return std::string(of.param.name); });

Session with_streams(const LoadedModel& model) {
  Session session = test::family_session(model);
  for (SessionStack& stack : session.stacks) stack.layers.clear();
  run_session(session, model, {.all_logits = true, .streams = true});
  return session;
}

// Puts a level of the stream in the place of the last one.
struct Replace final : Tap {
  explicit Replace(const StreamLevel& other, const StreamLevel& last) : level(other), end(last) {}
  void at(const TapName& name, View value) override {
    if (name.kind != end.kind || name.stack != end.stack || name.layer != end.layer) return;
    std::copy_n(level.value.data<float>(), level.value.element_count(), value.data<float>());
  }
  const StreamLevel& level;
  const StreamLevel& end;
};

std::span<const float> numbers_of_row(const Tensor& logits, std::int64_t row) {
  const std::int64_t width = logits.dim(1);
  return {logits.data<float>() + row * width, static_cast<std::size_t>(width)};
}

TEST_P(WordsOf, ALevelsLensIsWhatTheModelSaysWhenThatLevelIsItsLast) {
  const LoadedModel model = family_model(GetParam());
  const Session session = with_streams(model);
  ASSERT_GE(session.streams.size(), 3U);
  const std::int64_t length = std::ssize(session.tokens);
  for (const StreamLevel& level : session.streams) {
    Replace replace(level, session.streams.back());
    const Tensor expected = pass_over(session, model, {.tap = &replace, .all_positions = true});
    EXPECT_LE(largest_difference(read_out(level, model, 0, length), expected), 1e-6);
  }
}

TEST_P(WordsOf, TheLastLevelIsTheAnswerItself) {
  const LoadedModel model = family_model(GetParam());
  const Session session = with_streams(model);
  const std::int64_t length = std::ssize(session.tokens);
  const Tensor last = read_out(session.streams.back(), model, 0, length);
  EXPECT_LE(largest_difference(last, session.logits), 1e-6);
  const Lens all =
      lens(session, model, {.begin = 0, .end = length, .every_block = true, .at = 2}, kNever);
  ASSERT_EQ(all.levels.size(), session.streams.size());
  for (std::int64_t row = 0; row < length; ++row) {
    const LensCell& cell = all.levels.back().cells.at(static_cast<std::size_t>(row));
    EXPECT_EQ(cell.id, first_choice(numbers_of_row(session.logits, row)));
    EXPECT_EQ(cell.came.has_value(), word_that_came(session, row).has_value());
  }
  EXPECT_EQ(all.levels.back().ranks, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST_P(WordsOf, SurpriseIsTheLogarithmOfTheSoftmax) {
  const LoadedModel model = family_model(GetParam());
  const Session session = with_streams(model);
  const std::int64_t behind = session.info.writes() ? 1 : 0;
  const std::vector<TokenSurprise> all = surprises(session, model, kNever);
  const auto words = std::ranges::count_if(
      session.tokens, [&](const SessionToken& each) { return behind == 1 || each.text >= 0; });
  ASSERT_EQ(std::ssize(all), words - behind);
  for (const TokenSurprise& one : all) {
    const auto row = numbers_of_row(session.logits, one.token - behind);
    const auto id =
        static_cast<std::size_t>(session.tokens[static_cast<std::size_t>(one.token)].id);
    double sum = 0;
    std::int64_t before = 0;
    for (std::size_t word = 0; word < row.size(); ++word) {
      sum += std::exp(static_cast<double>(row[word]));
      before += row[word] > row[id] ? 1 : 0;
    }
    EXPECT_NEAR(one.chance.probability, std::exp(static_cast<double>(row[id])) / sum, 1e-6);
    EXPECT_EQ(one.chance.rank, before + 1);
  }
}

TEST_P(WordsOf, AModelThatDoesNotWriteHasNoBranches) {
  const LoadedModel model = family_model(GetParam());
  const Session session = with_streams(model);
  if (!session.info.writes()) {
    const BranchRequest request{.position = 1, .word = 2};
    EXPECT_HEED_ERROR(Branch(session, model, request), ErrorCode::kUnsupported,
                      std::string("branch: ") + GetParam().name +
                          " does not write, expected a decoder or an encoder-decoder");
  }
}

TEST_P(WordsOf, ABranchIsTheLikeliestWordAgainAndAgain) {
  const LoadedModel model = family_model(GetParam());
  const Session session = with_streams(model);
  if (!session.info.writes()) return;
  Branch branch(session, model, {.position = 1, .word = 2, .most_tokens = 4});
  Session text = tokenize_session(model, std::vector<TokenId>{1});
  text.tokens = {session.tokens[0], session.tokens[1]};
  text.key_tokens.assign(session.key_tokens.begin(), session.key_tokens.end());
  TokenId next = 2;
  double bits = 0;
  std::int64_t written = 0;
  while (const auto token = branch.next()) {
    ++written;
    const Tensor logits = pass_over(text, model, {});
    EXPECT_EQ(token->token.id, next);
    const double probability =
        token_of(next, numbers_of_row(logits, 0), distribution_of(numbers_of_row(logits, 0)))
            .probability;
    EXPECT_NEAR(token->token.probability, probability, 1e-5);
    bits -= std::log2(token->token.probability);
    text.tokens.push_back({.id = next, .bytes = {}});
    if (!branch.ended().empty()) break;
    next = first_choice(numbers_of_row(pass_over(text, model, {}), 0));
  }
  EXPECT_GE(written, 1);
  EXPECT_LE(written, 4);
  EXPECT_FALSE(branch.ended().empty());
  EXPECT_EQ(branch.tokens(), written);
  EXPECT_NEAR(branch.bits_a_token(), bits / static_cast<double>(written), 1e-9);
}

TEST_P(WordsOf, ABranchKeepsToTheRulesOfTheFolder) {
  const test::Scratch scratch;
  LoadedModel model = family_model(GetParam());
  model.folder = scratch.folder();
  const Session session = with_streams(model);
  if (!session.info.writes()) return;
  write_file(scratch / "generation_config.json",
             R"({"no_repeat_ngram_size": 1, "num_beams": 4, "do_sample": true, "top_k": 3,
                 "suppress_tokens": [4, 5], "forced_eos_token_id": 6})");
  Branch branch(session, model, {.position = 0, .word = 2, .most_tokens = 6});
  std::vector<TokenId> ids = {session.tokens[0].id};
  while (const auto token = branch.next()) ids.push_back(token->token.id);
  EXPECT_EQ(std::ranges::count(ids, 4) + std::ranges::count(ids, 5), 0);
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());  // none comes twice
  EXPECT_TRUE(branch.ended() == "length" || branch.ended() == "end");
}

TEST_P(WordsOf, BeamsAreScoredAsTheFolderSays) {
  const test::Scratch scratch;
  LoadedModel model = family_model(GetParam());
  model.folder = scratch.folder();
  if (!model.model->info().reads_source()) return;
  const LiveSession live("beams", {}, with_streams(model), &model);
  EXPECT_EQ(answer_beams(live, 3, 6, kNever).length_penalty, 1);
  write_file(scratch / "generation_config.json",
             R"({"num_beams": 2, "length_penalty": 2.5, "suppress_tokens": [4]})");
  const BeamsAnswer answer = answer_beams(live, 3, 6, kNever);
  EXPECT_EQ(answer.length_penalty, 2.5);
  EXPECT_EQ(answer.hypotheses.size(), 3U);
  for (const HypothesisAnswer& text : answer.hypotheses)
    EXPECT_EQ(std::ranges::count(text.tokens, 4, &BranchTokenAnswer::id), 0);
}

TEST_P(WordsOf, AMaskNeedsAModelThatFillsItAndAName) {
  const LoadedModel model = family_model(GetParam());
  const Session session = test::family_session(model);
  const std::string name = GetParam().name;
  EXPECT_HEED_ERROR(mask_token(session), ErrorCode::kUnsupported,
                    "mask: " + name +
                        (name == "bert" || name == "roberta"
                             ? " names no mask, expected [MASK] or <mask> in its tokenizer"
                             : " fills no masks, expected an encoder with words, as BERT"));
}

TEST(Words, ASessionWithoutItsStreamSaysSo) {
  const LoadedModel model = family_model(test::kFamilyVariants[0]);
  const Session session = test::family_session(model);
  const LensRequest request{.begin = 0, .end = 1};
  EXPECT_HEED_ERROR(
      lens(session, model, request, kNever), ErrorCode::kUnsupported,
      "lens: the session keeps no residual stream, expected a session of a model that "
      "says words");
}

TEST(Words, ABranchOfAnEditedSessionIsRefused) {
  const LoadedModel model = family_model(test::kFamilyVariants[0]);
  Session session = with_streams(model);
  session.edits.ablate = {{.layer = 0, .head = 1}};
  const BranchRequest request{.position = 1, .word = 2};
  EXPECT_HEED_ERROR(Branch(session, model, request), ErrorCode::kUnsupported,
                    "branch: a session with edits, which writing would not follow, expected one "
                    "without");
}

TEST(Words, ABranchRefusesWhatThereIsNot) {
  const LoadedModel model = family_model(test::kFamilyVariants[0]);
  const Session session = with_streams(model);
  const BranchRequest far{.position = 7, .word = 0}, unknown{.position = 0, .word = 11};
  EXPECT_HEED_ERROR(Branch(session, model, far), ErrorCode::kNotFound,
                    "branch: position is 7, expected 0 to 6, a token of the text");
  EXPECT_HEED_ERROR(Branch(session, model, unknown), ErrorCode::kNotFound,
                    "branch: token is 11, expected 0 to 10, a word of the model");
}

}  // namespace
}  // namespace heed
