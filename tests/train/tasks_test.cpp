// Each task: learns and resumes bit for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "heed/model.h"
#include "support/expect_error.h"
#include "train/task.h"
#include "train/task_run.h"
#include "train/text_data.h"

namespace heed {
namespace {

class Tasks : public test::TaskRun {};

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
  const auto task = make_mlm_task(config_, load_text_data(config_));
  const Tokenizer& tokenizer = *task->data().tokenizer;
  const TokenId mask = tokenizer.find("[MASK]");
  int asked = 0;
  int masked = 0;
  int kept = 0;
  for (int i = 0; i < 300; ++i) {
    Example example;
    task->make(i, example);
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

// An example without its masks: two texts, the second empty if there is only one.
std::pair<std::vector<TokenId>, std::vector<TokenId>> texts_of(Example example, TokenId sep) {
  for (std::size_t t = 0; t < example.ids.size(); ++t)
    if (example.targets[t] >= 0) example.ids[t] = example.targets[t];
  const auto middle = std::ranges::find(example.ids, sep), last = example.ids.end() - 1;
  EXPECT_EQ(std::ranges::count(example.types, 1), last - middle);
  const std::vector<TokenId> first(example.ids.begin() + 1, middle);
  if (middle == last) return {first, {}};
  return {first, {middle + 1, last}};
}

TEST_F(Tasks, PairsGoOnOrBeginInsideOfTheFirstText) {
  config_.task = "mlm";
  config_.pairs = 0.75;
  config_.mask_share = 0.01;  // one token, so that the texts can be compared
  config_.block = 40;
  const std::vector<TokenId> stream = load_text_data(config_).train;
  const auto task = make_mlm_task(config_, load_text_data(config_));
  int pairs = 0;
  int going_on = 0;
  for (int i = 0; i < 400; ++i) {
    Example example;
    task->make(i, example);
    ASSERT_EQ(std::ssize(example.ids), config_.block);
    const auto [first, second] = texts_of(example, task->data().tokenizer->find("[SEP]"));
    if (second.empty()) continue;
    ++pairs;
    ASSERT_GE(std::ssize(second), 9);
    // The stream from A on holds both.
    const auto begin = std::ranges::search(stream, first).begin();
    ASSERT_NE(begin, stream.end());
    going_on += std::equal(second.begin(), second.end(), begin + std::ssize(first));
  }
  EXPECT_NEAR(pairs, 300, 30);
  EXPECT_NEAR(going_on, pairs / 2.0, 30);
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
  const auto task = make_mlm_task(config_, load_text_data(config_));
  for (int i = 0; i < 20; ++i) {
    Example example;
    task->make(i, example);
    // Blanks begin words, so each is asked for with the letters behind it.
    for (std::size_t t = 1; t + 2 < example.ids.size(); ++t) {
      const bool begins = example.targets[t] == task->data().tokenizer->find(" ");
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
                    fmt::format("train: {}: line 1: byte 3: 'n' (U+006E) is not among the 22 "
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

TEST_F(Tasks, AClassifierIsTrainedOnForOtherLabelsWithANewHead) {
  label_texts();
  config_.steps = 10;
  const LoadedClassifier first = load_classifier(config_.start_from = run("first").model.string());
  config_.steps = 1;
  config_.learning_rate = 0;
  for (const char* names : {"zero one", "zero one two"}) {
    std::istringstream words(names);
    const std::vector<std::string> labels(std::istream_iterator<std::string>(words), {});
    lines("texts.txt", [&](int i) {
      return fmt::format("{}\t{}", labels[static_cast<std::size_t>(i) % labels.size()], i);
    });
    const LoadedClassifier other = load_classifier(run(names).model);
    EXPECT_EQ(other.labels.size(), labels.size());
    EXPECT_NE(other.model->parameters().back()->value.data<float>()[0],
              first.model->parameters().back()->value.data<float>()[0]);
  }
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

}  // namespace
}  // namespace heed
