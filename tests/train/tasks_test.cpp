// Each task: learns, resumes bit for bit, and says what does not fit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "heed/base/threads.h"
#include "heed/models/classifier.h"
#include "heed/models/registry.h"
#include "support/expect_error.h"
#include "train/mlm_task.h"
#include "train/small_run.h"

namespace heed {
namespace {

using test::loss_rows;

class Tasks : public test::SmallRun {
 protected:
  void lines(const std::string& name, const std::function<std::string(int)>& line, int count = 60) {
    std::string text;
    for (int i = 0; i < count; ++i) text += line(i) + "\n";
    write_file(scratch_ / name, text);
  }
  std::string at(const std::string& name) const { return (scratch_ / name).string(); }

  void translate() {
    config_.task = "seq2seq";
    lines("a.txt", [](int i) { return fmt::format("number {}", i); });
    lines("b.txt", [](int i) { return fmt::format("{} is it", i); });
    config_.data = {at("a.txt")};
    config_.targets = {at("b.txt")};
    config_.attention_dropout = 0.1;
    config_.label_smoothing = 0.1;
  }
  void mask() {
    config_.task = "mlm";
    config_.whole_words = true;
    config_.dropout = 0.1;
  }
  void label_texts() {
    config_.task = "classify";
    config_.label = "text";
    lines("texts.txt", [](int i) {
      return fmt::format("{}\t{} and {}", i % 2 == 0 ? "even" : "odd", i, i * 7 % 60);
    });
    config_.data = {at("texts.txt")};
  }
  void label_tokens() {
    config_.task = "classify";
    lines("tokens.txt", [](int i) { return fmt::format("the\tword\n{}\tnumber\n", i); });
    config_.data = {at("tokens.txt")};
    config_.model = R"({"model_type": "gpt2"})";
  }

  // Stopped after a step and gone on with: the rows are those of a run that was not.
  void expect_the_same_resumed() {
    run("whole");
    run_until(13, "parts");
    std::filesystem::remove(checkpoint("parts", 13));  // as if killed: goes on from step 10
    run("parts", /*resume=*/true);
    EXPECT_EQ(loss_rows(scratch_ / "parts"), loss_rows(scratch_ / "whole"));
    EXPECT_EQ(loss_rows(scratch_ / "parts").size(), 21U);
  }
  void expect_threads_agree() {
    set_thread_count(1);
    const TrainResult one = run("one");
    set_thread_count(3);
    const TrainResult three = run("three");
    set_thread_count(0);
    EXPECT_NEAR(three.loss, one.loss, 1e-4 * one.loss);
    EXPECT_NEAR(three.validation_loss.value_or(0), one.validation_loss.value_or(1),
                1e-4 * one.loss);
  }
};

TEST_F(Tasks, MaskedTokensResume) {
  mask();
  expect_the_same_resumed();
  expect_threads_agree();
}

TEST_F(Tasks, TranslationsResume) {
  translate();
  expect_the_same_resumed();
  expect_threads_agree();
}

TEST_F(Tasks, LabelsOfTextsResume) {
  label_texts();
  expect_the_same_resumed();
  expect_threads_agree();
}

TEST_F(Tasks, LabelsOfTokensResume) {
  label_tokens();
  expect_the_same_resumed();
}

TEST_F(Tasks, GeneratedOnesResume) {
  config_.data = {};
  config_.generate = "induction";
  config_.generate_length = 16;
  expect_the_same_resumed();
}

TEST_F(Tasks, MaskedTokensAreLearned) {
  mask();
  config_.dropout = 0;
  config_.whole_words = false;
  config_.steps = 800;
  config_.batch = 16;
  config_.width = 32;
  config_.learning_rate = 3e-3;
  config_.model = R"({"initializer_range": 0.1})";
  const TrainResult result = run("a");
  EXPECT_LT(result.best_loss.value_or(9), 1.5);  // ln 26 = 3.3 is a guess
  const LoadedModel loaded = load_model(result.model);
  EXPECT_EQ(loaded.model->info().title, "BERT");
  EXPECT_GE(loaded.tokenizer->find("[MASK]"), 0);
}

TEST_F(Tasks, TranslationsAreLearnedByEveryFamily) {
  translate();
  config_.label_smoothing = 0;
  config_.attention_dropout = 0;
  config_.steps = 250;
  config_.batch = 16;
  config_.width = 32;
  config_.validation = 0;
  config_.learning_rate = 5e-3;
  for (const char* family : {"marian", "blenderbot", "t5"}) {
    config_.model = fmt::format(R"({{"model_type": "{}"}})", family);
    const TrainResult result = run(family);
    EXPECT_LT(result.loss, 0.7) << family;
    EXPECT_TRUE(load_model(result.model).model->info().reads_source());
  }
}

TEST_F(Tasks, TwoLanguagesMayHaveTwoTokenizers) {
  translate();
  config_.target_tokenizer = "characters";
  const TrainResult result = run("a");
  const LoadedModel loaded = load_model(result.model);
  ASSERT_NE(loaded.target_tokenizer, nullptr);
  EXPECT_EQ(loaded.model->info().vocabulary, loaded.target_tokenizer->vocabulary_size());
  EXPECT_EQ(loaded.model->info().source_vocabulary, loaded.tokenizer->vocabulary_size());
}

TEST_F(Tasks, LabelsOfTokensAreLearned) {
  label_tokens();
  config_.steps = 100;
  config_.learning_rate = 1e-2;
  const TrainResult result = run("a");
  EXPECT_EQ(result.accuracy, 1.0);
  EXPECT_EQ(load_classifier(result.model).labels, (std::vector<std::string>{"number", "word"}));
  EXPECT_NE(read_file(scratch_ / "a" / "loss.csv").find(",accuracy\n"), std::string::npos);
}

TEST_F(Tasks, MasksAreThoseOfBert) {
  config_.task = "mlm";
  config_.block = 66;
  const MlmTask task(config_, load_text_data(config_));
  const Tokenizer& tokenizer = *task.data().tokenizer;
  const TokenId mask = tokenizer.find("[MASK]");
  int asked = 0;
  int masked = 0;
  int kept = 0;
  for (int i = 0; i < 300; ++i) {
    Example example;
    task.make(i, example);
    EXPECT_EQ(example.ids.front(), tokenizer.find("[CLS]"));
    EXPECT_EQ(example.ids.back(), tokenizer.find("[SEP]"));
    EXPECT_EQ(example.counted(), 10);  // 15 % of 64
    for (std::size_t t = 0; t < example.ids.size(); ++t) {
      if (example.targets[t] < 0) continue;
      ++asked;
      masked += example.ids[t] == mask;
      kept += example.ids[t] == example.targets[t];
    }
  }
  EXPECT_NEAR(masked / static_cast<double>(asked), 0.8, 0.03);
  EXPECT_NEAR(kept / static_cast<double>(asked), 0.1, 0.03);
}

TEST_F(Tasks, WholeWordsAreAskedForTogether) {
  config_.task = "mlm";
  config_.whole_words = true;
  config_.block = 66;
  write_file(
      scratch_ / "words.txt", std::string(20, ' ') + [] {
        std::string text;
        for (int i = 0; i < 900; ++i) text += " abc";
        return text;
      }());
  config_.data = {at("words.txt")};
  const MlmTask task(config_, load_text_data(config_));
  for (int i = 0; i < 20; ++i) {
    Example example;
    task.make(i, example);
    // Blanks begin words, so each is asked for with the letters behind it.
    for (std::size_t t = 1; t + 2 < example.ids.size(); ++t) {
      const bool begins = example.targets[t] == task.data().tokenizer->find(" ");
      if (begins && t + 3 < example.ids.size() - 1) {
        EXPECT_GE(example.targets[t + 1], 0) << t;
      }
    }
  }
}

TEST_F(Tasks, AModelIsTrainedOnForAnotherTaskWithItsOwnShapeAndTokenizer) {
  config_.width = 24;
  const TrainResult first = run("first");
  config_.width = 16;  // does not count
  config_.start_from = first.model.string();
  label_texts();
  EXPECT_HEED_ERROR(run("other"), ErrorCode::kInvalidArgument,
                    fmt::format("train: {}: line 1: byte 3: 'n' (U+006E) is none of the 22 "
                                "pieces of the vocabulary",
                                at("texts.txt")));
  lines("texts.txt", [](int i) { return fmt::format("{}\t{}.", i % 2 == 0 ? "even" : "odd", i); });
  config_.steps = 150;
  const TrainResult second = run("second");
  const LoadedClassifier loaded = load_classifier(second.model);
  EXPECT_EQ(loaded.model->info().width, 24);
  EXPECT_EQ(loaded.labels, (std::vector<std::string>{"even", "odd"}));
  EXPECT_LT(second.loss, 0.5);
  config_.start_from = second.model.string();  // and on, with its head
  config_.steps = 1;
  config_.learning_rate = 0;
  EXPECT_NEAR(run("third").best_loss.value_or(9), second.best_loss.value_or(0), 0.5);
  config_.block = 17;
  EXPECT_HEED_ERROR(run("long"), ErrorCode::kInvalidArgument,
                    "train: block is 17, expected at most 16 (start_from's)");
}

TEST_F(Tasks, PatienceEndsARunThatIsNoLongerBetter) {
  config_.learning_rate = 0;
  config_.final_learning_rate = 0;
  config_.patience = 2;
  config_.evaluate_every = 2;
  const TrainResult result = run("a");
  EXPECT_EQ(result.steps, 6);  // the first evaluation is the best, two more are not better
  EXPECT_EQ(recorder_.notes.back(), "ends after step 6: 2 evaluations without a better loss");
  EXPECT_EQ(run("a", /*resume=*/true).steps, 6);
}

TEST_F(Tasks, FrozenParametersStayAndANameThatNoneHasIsRefused) {
  config_.groups = R"([{"names": ["wte", "wpe"], "frozen": true}, {"names": ["h.1"],
                       "learning_rate": 0}])";
  config_.weight_decay = 0;
  const LoadedModel after = load_model(run("a").model);
  const auto before = make_model(after.model->config_json(), 1337);
  const auto were = before->parameters();
  const auto are = after.model->parameters();
  int moved = 0;
  for (std::size_t i = 0; i < are.size(); ++i) {
    const bool same = std::equal(were[i]->value.data<float>(),
                                 were[i]->value.data<float>() + were[i]->value.element_count(),
                                 are[i]->value.data<float>());
    const bool held = are[i]->name.find("wte") != std::string::npos ||
                      are[i]->name.find("wpe") != std::string::npos ||
                      are[i]->name.find("h.1") != std::string::npos;
    EXPECT_EQ(same, held) << are[i]->name;
    moved += !same;
  }
  EXPECT_GT(moved, 5);
  config_.groups = R"([{"names": ["embedding"]}])";
  EXPECT_HEED_ERROR(run("b"), ErrorCode::kInvalidArgument,
                    "train: groups is \"embedding\", expected a part of a parameter's name, as "
                    "\"transformer.wte.weight\"");
}

TEST_F(Tasks, WhatDoesNotFitIsNamed) {
  config_.task = "mlm";
  config_.model = R"({"model_type": "gpt2"})";
  EXPECT_HEED_ERROR(run("a"), ErrorCode::kUnsupported,
                    "train: model: line 1, column 15: model_type is 'gpt2', expected a family that "
                    "predicts masked tokens");
  config_.model = "{}";
  translate();
  lines("b.txt", [](int i) { return fmt::format("{}", i); }, 59);
  EXPECT_HEED_ERROR(run("b"), ErrorCode::kInvalidArgument,
                    "train: targets is 59 lines, expected 60, as data has");
  lines("b.txt", [](int i) { return i == 3 ? std::string(40, '7') : fmt::format("{}", i); });
  EXPECT_HEED_ERROR(
      run("c"), ErrorCode::kInvalidArgument,
      fmt::format("train: {}: line 4: 41 tokens long, expected at most 16 (block)", at("b.txt")));
  lines("b.txt", [](int i) { return i == 5 ? std::string() : fmt::format("{}", i); });
  EXPECT_HEED_ERROR(
      run("d"), ErrorCode::kInvalidArgument,
      fmt::format("train: {}: line 6: targets is an empty line, expected a text", at("b.txt")));
  config_.targets = {};
  config_.data = {};
  config_.generate = "anomaly";
  EXPECT_HEED_ERROR(run("e"), ErrorCode::kInvalidArgument,
                    "train: task is \"seq2seq\", expected classify (to generate \"anomaly\")");
  config_.task = "classify";
  config_.block = 6;
  config_.label_smoothing = 0;
  EXPECT_HEED_ERROR(run("f"), ErrorCode::kInvalidArgument,
                    "train: block is 6, expected at least 10 (\"anomaly\" of length 10)");
}

TEST_F(Tasks, LabelsThatAreNoneAreNamed) {
  label_texts();
  lines("texts.txt", [](int i) { return i == 2 ? "no tab" : fmt::format("a\t{}", i); });
  EXPECT_HEED_ERROR(run("a"), ErrorCode::kInvalidArgument,
                    fmt::format("train: {}: line 3: \"no tab\", expected a label, a tab and a text",
                                at("texts.txt")));
  lines("texts.txt", [](int i) { return fmt::format("a\t{}", i); });
  EXPECT_HEED_ERROR(run("b"), ErrorCode::kInvalidArgument,
                    "train: data is 1 label, expected at least two that differ");
}

}  // namespace
}  // namespace heed
