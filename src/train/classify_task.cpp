// Labels for texts, or for their tokens.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/digest.h"
#include "base/wording.h"
#include "heed/error.h"
#include "train/crops.h"
#include "train/task.h"
#include "train/text_data.h"

namespace heed {
namespace {

struct Halves {
  std::string before, behind;
};

Halves halves_of(const TextLine& line, std::string_view expected) {
  const std::size_t tab = line.text.find('\t');
  Halves halves;
  if (tab != std::string::npos) halves = {line.text.substr(0, tab), line.text.substr(tab + 1)};
  if (halves.before.empty() || halves.behind.empty())
    fail({.op = "train",
          .file = line.place,
          .found = fmt::format("\"{}\"", clipped(line.text)),
          .expected = expected});
  return halves;
}

void check_length(std::int64_t tokens, std::int64_t block, const std::string& place) {
  if (tokens > block || tokens == 0)
    fail({.op = "train",
          .file = place,
          .found = fmt::format("a text of {}", number_of(tokens, "token")),
          .expected = fmt::format("1 to {} (block)", block)});
}

/// For texts, a line is a label, a tab and the text. For tokens, a line is a word, a tab and its
/// label, and an empty line ends a text; if a word has several tokens, the first one gets the
/// label.
class ClassifyTask : public Task {
 public:
  explicit ClassifyTask(const TrainConfig& config) : config_(config) {
    const std::vector<Words> texts = read_texts();
    training_ = training_rows(std::ssize(texts), config.validation, "texts");
    name_labels(texts);
    std::string all = " ";
    const auto learned = config.tokenizer == "characters" ? std::ssize(texts) : training_;
    for (std::int64_t i = 0; i < learned; ++i)
      for (const std::string& word : texts[static_cast<std::size_t>(i)].words) (all += word) += ' ';
    data_.tokenizer = make_tokenizer(config, config.tokenizer, all);
    special_ = special_tokens_of(*data_.tokenizer);
    Digest digest;
    std::int64_t tokens = 0;
    for (const Words& text : texts) {
      const Example& example = examples_.emplace_back(example_of(text));
      digest.add(example.ids);
      digest.add(example.targets);
      tokens += std::ssize(example.ids);
    }
    data_.digest = digest.value();
    tokens_ = std::max<std::int64_t>(1, tokens / std::ssize(examples_));
  }

  const TaskData& data() const override { return data_; }
  TrainingShape shape() const override {
    TrainingShape shape = {
        .trained_for = by_text() ? TrainedFor::kTextClasses : TrainedFor::kTokenClasses,
        .vocabulary = data_.tokenizer->vocabulary_size(),
        .pad_token = special_.pad,
        .labels = data_.labels};
    if (special_.end >= 0) shape.end_tokens = {special_.end};
    return shape;
  }

  void make(std::int64_t index, Example& example) const override {
    example = examples_[row_of(config_, index, training_)];
  }
  std::int64_t epoch_examples() const override { return training_; }
  std::int64_t validation_examples() const override { return std::ssize(examples_) - training_; }
  void make_validation(std::int64_t index, std::int64_t count, Example& example) const override {
    example =
        examples_[static_cast<std::size_t>(training_ + index * validation_examples() / count)];
  }
  std::int64_t tokens_an_example() const override { return tokens_; }
  std::string sizes() const override {
    return fmt::format("{} for training, {} for validation (the last {:g} %), {}.\n",
                       number_of(training_, "text"), validation_examples(),
                       100 * config_.validation, number_of(data_.labels.size(), "label"));
  }

 private:
  struct Words {  // of one text; if texts have labels, one word that is the whole text
    std::vector<std::string> words, labels;
    std::string place;
  };
  bool by_text() const { return config_.label == "text"; }
  std::vector<Words> read_texts() {
    std::vector<Words> texts;
    Words open;
    const auto close = [&] {
      if (!open.words.empty()) texts.push_back(std::exchange(open, {}));
    };
    for (const TextLine& line : read_lines(config_.data, data_.files)) {
      if (by_text()) {
        const Halves halves = halves_of(line, "a label, a tab and a text");
        open = {{halves.behind}, {halves.before}, line.place};
        close();
      } else if (line.text.empty()) {
        close();
      } else {
        const Halves halves = halves_of(line, "a word, a tab and its label, or an empty line");
        if (open.words.empty()) open.place = line.place;
        open.words.push_back(halves.before);
        open.labels.push_back(halves.behind);
      }
    }
    close();
    return texts;
  }

  void name_labels(const std::vector<Words>& texts) {
    std::set<std::string> names;
    for (const Words& text : texts) names.insert(text.labels.begin(), text.labels.end());
    data_.labels.assign(names.begin(), names.end());
    if (data_.labels.size() < 2)
      fail("train", "data", number_of(data_.labels.size(), "label"), "at least two that differ");
  }

  Example example_of(const Words& text) const {
    Example example = {.ids = special_.before};
    if (!by_text()) example.targets.assign(special_.before.size(), kIgnoredTarget);
    for (std::size_t i = 0; i < text.words.size(); ++i) {
      // Words after the first begin with a space, as inside a text.
      const std::string word = (i > 0 ? " " : "") + text.words[i];
      const std::vector<TokenId> ids =
          reworded([&] { return data_.tokenizer->encode(word, /*add_special=*/false).ids; },
                   [&](ErrorParts& parts) {
                     parts.op = "train";
                     parts.file = text.place;
                   });
      const auto label = std::ranges::lower_bound(data_.labels, text.labels[i]);
      const std::size_t first = example.ids.size();
      example.ids.insert(example.ids.end(), ids.begin(), ids.end());
      if (by_text()) {
        example.targets = {static_cast<TokenId>(label - data_.labels.begin())};
        continue;
      }
      example.targets.resize(example.ids.size(), kIgnoredTarget);
      if (!ids.empty()) example.targets[first] = static_cast<TokenId>(label - data_.labels.begin());
    }
    example.ids.insert(example.ids.end(), special_.behind.begin(), special_.behind.end());
    if (!by_text()) example.targets.resize(example.ids.size(), kIgnoredTarget);
    check_length(std::ssize(example.ids), config_.block, text.place);
    return example;
  }

  const TrainConfig& config_;
  TaskData data_;
  SpecialTokens special_;
  std::vector<Example> examples_;
  std::int64_t training_ = 0;
  std::int64_t tokens_ = 1;
};

}  // namespace

std::unique_ptr<Task> make_classify_task(const TrainConfig& config) {
  return std::make_unique<ClassifyTask>(config);
}

}  // namespace heed
