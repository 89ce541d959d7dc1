// Tasks with known answers, trained with the committed configurations: the inspector shows that
// attention learned the right thing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/file.h"
#include "heed/look.h"
#include "heed/model.h"
#include "heed/threads.h"
#include "heed/train.h"
#include "support/places.h"
#include "support/scratch.h"
#include "support/training.h"

namespace heed {
namespace {

class KnownAnswers : public testing::Test {
 protected:
  // One thread: several would wait for each other at every step while other tests run on their
  // cores.
  void SetUp() override { set_thread_count(1); }
  void TearDown() override { set_thread_count(0); }

  // As `heed train examples/tasks/NAME.json` does, or for `steps`.
  TrainResult trained(const std::string& name, std::optional<std::int64_t> steps = {}) {
    const std::string file = fmt::format("{}/examples/tasks/{}.json", HEED_SOURCE_DIR, name);
    config_ = parse_train_config(read_file(file), file);
    config_.steps = steps.value_or(config_.steps);
    const TrainResult result = train({.config = config_, .folder = scratch_ / name}, recorder_);
    model_ = load_model(result.model);
    return result;
  }

  // Weight of query i on key j.
  static double weight(const Session& session, const Place& place, std::int64_t i, std::int64_t j) {
    return look_cell(session.at(place), place.head, i, j).weight;
  }

  test::Scratch scratch_;
  test::Recorder recorder_;
  TrainConfig config_;
  LoadedModel model_;
};

TEST_F(KnownAnswers, ReverseIsTheAntiDiagonal) {
  EXPECT_EQ(trained("reverse").accuracy, 1.0);
  const Session session = open_session(model_, "3 1 4 1 5 9 2 6 5 3 5 8 9 7 9 3");
  double sum = 0;
  for (std::int64_t i = 0; i < 16; ++i) {
    const LookRow row = look_rows(session.at(Place{}), 0, std::vector{i}, 1)[0];
    EXPECT_EQ(row.attends[0].key, 15 - i);
    sum += row.attends[0].weight;
  }
  EXPECT_GT(sum / 16, 0.9);
}

TEST_F(KnownAnswers, CopyIsTheDiagonalOfTheCrossAttention) {
  EXPECT_EQ(trained("copy", 500).accuracy, 1.0);
  Session session = tokenize_session(model_, "3 1 4 1 5 9 2 6 5 3 5 8 9 7 9 3");
  run_session(session, model_);
  ASSERT_EQ(session.tokens.size(), 17U);  // what it wrote by itself, behind the first token
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(session.tokens[i + 1].bytes, session.key_tokens[i].bytes);
    const auto at = static_cast<std::int64_t>(i);
    EXPECT_GT(weight(session, {.stack = Stack::kCross}, at, at), 0.5) << i;
  }
}

TEST_F(KnownAnswers, ASortedDigitLooksAtThoseOfItsValue) {
  EXPECT_GE(trained("sort").accuracy.value_or(0), 0.99);
  const Session session = open_session(model_, "3 1 4 1 5 9 2 6 5 3 5 8 = 1 1 2 3 3 4 5 5 5 6 8 9");
  double best = 0;  // of the second layer's heads: the mean weight on the digits of the next value
  for (int head = 0; head < 2; ++head) {
    double sum = 0;
    for (std::int64_t i = 12; i < 24; ++i)
      for (std::int64_t j = 0; j < 12; ++j)
        if (session.tokens[static_cast<std::size_t>(i + 1)].bytes ==
            session.tokens[static_cast<std::size_t>(j)].bytes)
          sum += weight(session, {.layer = 1, .head = head}, i, j);
    best = std::max(best, sum / 12);
  }
  EXPECT_GT(best, 0.3);
}

TEST_F(KnownAnswers, ADigitOfASumLooksAtTheTwoThatItIsMadeOf) {
  EXPECT_GE(trained("add").accuracy.value_or(0), 0.99);
  const Session session = open_session(model_, "1 2 3 + 4 5 8 = 1 8 5 0");
  for (std::int64_t digit = 0; digit < 3; ++digit) {
    double most = 0;
    for (int head = 0; head < 4; ++head)
      most = std::max(most, weight(session, {.head = head}, 7 + digit, 2 - digit) +
                                weight(session, {.head = head}, 7 + digit, 6 - digit));
    EXPECT_GT(most, 0.8) << digit;
  }
}

// The same words in another order give the same answers, because there are no positions.
TEST_F(KnownAnswers, AnomalyIsOfASetWhateverItsOrder) {
  EXPECT_GE(trained("anomaly").accuracy.value_or(0), 0.99);
  const LoadedClassifier labels = load_classifier(scratch_ / "anomaly" / "model");
  std::vector<std::string> words = {"red", "blue", "green", "horse", "white",
                                    "red", "grey", "brown", "black", "blue"};
  for (int turn = 0; turn < 10; ++turn) {
    std::string text;
    for (const std::string& word : words) text += word + " ";
    const std::vector<TokenId> ids = labels.tokenizer->encode(text, true).ids;
    heed::Run run;
    const Tensor logits = labels.model->forward(
        {.ids = ConstView(ids.data(), DType::kI32, {1, std::ssize(ids)})}, run);
    for (std::size_t i = 0; i < words.size(); ++i)
      EXPECT_EQ(logits.data<float>()[2 * i + 1] > logits.data<float>()[2 * i], words[i] == "horse");
    std::ranges::rotate(words, words.begin() + 1);
  }
}

TEST_F(KnownAnswers, InductionHasItsTwoHeads) {
  EXPECT_GE(trained("induction").accuracy.value_or(0), 0.99);
  const Probe probe = probe_heads(model_);
  double previous = 0;
  double induction = 0;
  for (const ProbedHead& head : probe.heads) {
    if (head.layer == 0) previous = std::max(previous, head.previous);
    if (head.layer == 1) induction = std::max(induction, head.induction);
  }
  EXPECT_GT(previous, 0.5);
  EXPECT_GT(induction, 0.5);
  EXPECT_GT(probe.loss_first - probe.loss_repeated, 2);
}

TEST_F(KnownAnswers, APronounFindsItsNoun) {
  EXPECT_GE(trained("pronoun").accuracy.value_or(0), 0.99);
  struct Story {
    const char* text;
    std::int64_t pronoun, noun, other;
  };
  // Pairs that never meet in training; each pronoun has two other candidates.
  const Story stories[] = {
      {"the lamp was old . anna met tom near the river . she smiled .", 12, 5, 7},
      {"tom saw anna near the castle . the boat was red . then he slept .", 13, 0, 2},
      {"mary saw peter near the castle . the boat was red . it fell .", 12, 8, 0}};
  for (const Story& story : stories) {
    const Session session = open_session(model_, story.text);
    double found = 0;
    for (int head = 0; head < model_.model->info().heads; ++head)
      found = std::max(found, weight(session, {.head = head}, story.pronoun, story.noun) -
                                  weight(session, {.head = head}, story.pronoun, story.other));
    EXPECT_GT(found, 0.5) << story.text;
  }
}

}  // namespace
}  // namespace heed
