#include "train/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "heed/error.h"
#include "text/word_level.h"
#include "train/generated/generator.h"
#include "train/text_data.h"

namespace heed {

std::int64_t Task::counted(std::int64_t index) const {
  Example example;
  make(index, example);
  return example.counted();
}

namespace {

constexpr std::int64_t kMostEpochExamples = std::int64_t{1} << 40;

std::unique_ptr<Task> task_of(const TrainConfig& config, const TokenBatches* batches) {
  if (batches != nullptr) return make_batches_task(config, *batches);
  if (!config.generate.empty()) return make_generated_task(config);
  if (config.task == "seq2seq") return make_seq2seq_task(config);
  if (config.task == "classify") return make_classify_task(config);
  TextData data = load_text_data(config);
  if (config.task == "mlm") return make_mlm_task(config, std::move(data));
  return make_lm_task(config, std::move(data));
}

}  // namespace

std::unique_ptr<Task> make_task(TrainConfig& config, const TokenBatches* batches) {
  std::unique_ptr<Task> task = task_of(config, batches);
  if (config.epochs == 0) return task;
  const std::int64_t a_step = config.batch * config.accumulate, examples = task->epoch_examples();
  if (config.epochs > kMostEpochExamples / examples)
    fail("train", "epochs", config.epochs,
         fmt::format("at most {} of {}", kMostEpochExamples / examples,
                     number_of(examples, "example")));
  const std::int64_t all = config.epochs * examples;
  if (a_step > all)  // one step would repeat examples to be full
    fail("train", "batch", config.batch,
         fmt::format("at most {} in a step (batch x accumulate), all epochs together",
                     number_of(all, "example")));
  config.steps = (all + a_step - 1) / a_step;
  return task;
}

namespace {

constexpr std::int64_t kValidationExamples = 1000;  // if all of them are used
constexpr std::string_view kAsks = "=";             // between source and answer as running text

std::vector<std::string_view> tasks_of(AnswerForm form) {
  switch (form) {
    case AnswerForm::kAligned:
      return {"classify", "seq2seq", "lm"};
    case AnswerForm::kSequence:
      return {"seq2seq", "lm"};
    case AnswerForm::kLabels:
      return {"classify"};
    case AnswerForm::kNext:
      return {"lm"};
  }
  return {};
}

const GeneratorEntry& entry_of(const TrainConfig& config) {
  return *std::ranges::find(generators(), config.generate, &GeneratorEntry::name);  // checked
}

std::int64_t length_of(const TrainConfig& config) {
  return config.generate_length > 0 ? config.generate_length : entry_of(config).usual_length;
}

class GeneratedTask : public Task {
 public:
  explicit GeneratedTask(const TrainConfig& config)
      : config_(config), generator_(entry_of(config).make(length_of(config))) {
    check_fit();
    std::vector<std::string> words = generator_.words;
    LearnedSpecials special;
    if (config.task == "seq2seq") special = learned_specials(config.task);
    if (config.task == "lm" && generator_.form != AnswerForm::kNext) words.emplace_back(kAsks);
    first_word_ = static_cast<TokenId>(special.tokens.size());
    data_.tokenizer = word_tokenizer(words, special);
    special_ = special_tokens_of(*data_.tokenizer);
    if (config.task == "classify")
      data_.labels = generator_.labels.empty() ? generator_.words : generator_.labels;
  }

  const TaskData& data() const override { return data_; }

  TrainingShape shape() const override {
    TrainingShape shape = {.vocabulary = data_.tokenizer->vocabulary_size()};
    if (config_.task == "classify") {
      shape.trained_for = TrainedFor::kTokenClasses;
      shape.labels = data_.labels;
    }
    if (config_.task == "seq2seq") {
      shape.trained_for = TrainedFor::kTranslation;
      shape.end_tokens = {special_.end};
      shape.start_token = special_.pad;
      shape.pad_token = special_.pad;
    }
    return shape;
  }

  void make(std::int64_t index, Example& example) const override {
    put(RandomUse::kGenerated, index, example);
  }
  std::int64_t validation_examples() const override {
    if (config_.validation == 0) return 0;
    return config_.evaluate_sequences > 0 ? config_.evaluate_sequences : kValidationExamples;
  }
  void make_validation(std::int64_t index, std::int64_t /*count*/,
                       Example& example) const override {
    put(RandomUse::kValidationGenerated, index, example);
  }
  std::int64_t tokens_an_example() const override { return longest(); }
  std::string sizes() const override {
    return fmt::format("{}, of length {}; {} for validation.\n", entry_of(config_).about,
                       length_of(config_), number_of(validation_examples(), "example"));
  }

 private:
  std::int64_t longest() const {
    const std::int64_t answer = generator_.longest + 1;
    if (config_.task == "seq2seq") return std::max(generator_.longest, answer) + 1;
    const bool in_line = config_.task == "lm" && generator_.form != AnswerForm::kNext;
    return generator_.longest + (in_line ? answer : 0);
  }

  void check_fit() const {
    const auto tasks = tasks_of(generator_.form);
    if (std::ranges::find(tasks, config_.task) == tasks.end())
      fail({.op = "train",
            .argument = "task",
            .found = fmt::format("\"{}\"", config_.task),
            .expected =
                fmt::format("{} (to generate \"{}\")", joined(tasks, " or "), config_.generate)});
    if (config_.block < longest())
      fail("train", "block", config_.block,
           fmt::format("at least {} (\"{}\" of length {})", longest(), config_.generate,
                       length_of(config_)));
  }

  TokenId token(std::int32_t word) const { return first_word_ + word; }

  void put(RandomUse use, std::int64_t index, Example& example) const {
    Random random =
        random_for(use, static_cast<std::uint64_t>(config_.seed), index, kWordsOfExample);
    Puzzle puzzle;
    generator_.make(random, use == RandomUse::kValidationGenerated, puzzle);
    if (config_.task == "seq2seq") return put_translation(puzzle, example);
    for (const std::int32_t word : puzzle.source) example.ids.push_back(token(word));
    if (config_.task == "lm" && generator_.form != AnswerForm::kNext)
      return put_in_line(puzzle, example);
    const TokenId first = generator_.form == AnswerForm::kNext ? first_word_ : 0;
    for (const std::int32_t answer : puzzle.answer)
      example.targets.push_back(answer < 0 ? kIgnoredTarget : first + answer);
  }

  void put_translation(const Puzzle& puzzle, Example& example) const {
    TokenPair pair;
    for (const std::int32_t word : puzzle.source) pair.source.push_back(token(word));
    pair.source.push_back(special_.end);
    for (const std::int32_t word : puzzle.answer) pair.target.push_back(token(word));
    put_pair(pair, special_.pad, special_.end, example);
  }

  // "3 1 = 1 3": the last word of the answer is a target but not an input.
  void put_in_line(const Puzzle& puzzle, Example& example) const {
    example.targets.assign(example.ids.size(), kIgnoredTarget);
    example.ids.push_back(data_.tokenizer->find(kAsks));
    for (const std::int32_t word : puzzle.answer) {
      example.targets.push_back(token(word));
      example.ids.push_back(token(word));
    }
    example.ids.pop_back();
  }

  const TrainConfig& config_;
  Generator generator_;
  TaskData data_;
  SpecialTokens special_;
  TokenId first_word_ = 0;
};

}  // namespace

std::unique_ptr<Task> make_generated_task(const TrainConfig& config) {
  return std::make_unique<GeneratedTask>(config);
}

namespace {

constexpr GeneratorEntry kGenerators[] = {
    {"reverse", "digits, written from the last to the first", 16, reverse_generator},
    {"copy", "digits, written again", 16, copy_generator},
    {"sort", "digits, in rising order", 12, sort_generator},
    {"add", "two numbers of that many digits, and their sum from its last digit on", 3,
     add_generator},
    {"anomaly", "words of one kind and one of another, which is the odd one out", 10,
     anomaly_generator},
    {"induction", "random words that begin again after a random period", 48, induction_generator},
    {"pronoun", "stories of that many sentences; each pronoun's noun", 3, pronoun_generator},
};

}  // namespace

std::span<const GeneratorEntry> generators() { return kGenerators; }

}  // namespace heed
