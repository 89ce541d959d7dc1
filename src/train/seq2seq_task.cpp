// Translation of lines.
#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/wording.h"
#include "heed/error.h"
#include "train/crops.h"
#include "train/initial_weights.h"
#include "train/task.h"
#include "train/text_data.h"

namespace heed {
namespace {

std::string as_lines(std::span<const TextLine> lines) {
  std::string all;
  for (const TextLine& line : lines) (all += line.text) += '\n';
  return all;
}

std::vector<TokenId> encoded(const TextLine& line, const Tokenizer& tokenizer, bool framed,
                             std::string_view key) {
  std::vector<TokenId> ids = reworded([&] { return tokenizer.encode(line.text, framed).ids; },
                                      [&](ErrorParts& parts) {
                                        parts.op = "train";
                                        parts.file = line.place;
                                      });
  if (line.text.empty())
    fail({.op = "train",
          .file = line.place,
          .argument = key,
          .found = "an empty line",
          .expected = "a text"});
  return ids;
}

void check_length(std::size_t tokens, std::int64_t most, const TextLine& line) {
  if (std::cmp_less_equal(tokens, most)) return;
  fail({.op = "train",
        .file = line.place,
        .found = fmt::format("{} long", number_of(tokens, "token")),
        .expected = fmt::format("at most {} (block)", most)});
}

}  // namespace

void put_pair(const TokenPair& pair, TokenId start, TokenId end, Example& example) {
  example.source = pair.source;
  example.ids.push_back(start);
  example.ids.insert(example.ids.end(), pair.target.begin(), pair.target.end());
  example.targets = pair.target;
  example.targets.push_back(end);
}

TokenId start_token_of(const SpecialTokens& special) {
  return special.pad >= 0 ? special.pad : special.end;
}

SpecialTokens writing_tokens_of(const Tokenizer& tokenizer, std::string_view key) {
  SpecialTokens special = special_tokens_of(tokenizer);
  if (special.end < 0)
    fail("train", key, "without a token that ends a text",
         "</s>, <eos>, <|endoftext|> or [SEP] in its vocabulary");
  return special;
}

namespace {

class Seq2seqTask : public Task {
 public:
  // Reads the lines of `data` and the corresponding lines of `targets`.
  explicit Seq2seqTask(const TrainConfig& config) : config_(config) {
    const std::vector<TextLine> sources = read_lines(config.data, data_.files);
    const std::vector<TextLine> targets = read_lines(config.targets, data_.files);
    if (sources.size() != targets.size())
      fail("train", "targets", number_of(targets.size(), "line"),
           fmt::format("{}, as data has", sources.size()));
    training_ = training_rows(std::ssize(sources), config.validation, "pairs of lines");
    // Like in next-token training: characters from both parts, pieces only from the training part.
    const auto learned_of = [&](std::span<const TextLine> lines) {
      return as_lines(config.tokenizer == "characters"
                          ? lines
                          : lines.first(static_cast<std::size_t>(training_)));
    };
    if (config.target_tokenizer.empty() && !config.start_from.empty())
      data_.target_tokenizer = load_target_tokenizer(start_folder(config));
    if (config.target_tokenizer.empty()) {
      data_.tokenizer =
          make_tokenizer(config, config.tokenizer, learned_of(sources) + learned_of(targets));
    } else {
      data_.tokenizer = make_tokenizer(config, config.tokenizer, learned_of(sources));
      data_.target_tokenizer =
          make_tokenizer(config, config.target_tokenizer, learned_of(targets), "target_tokenizer");
    }
    const Tokenizer& writes = data_.target_tokenizer ? *data_.target_tokenizer : *data_.tokenizer;
    target_special_ =
        writing_tokens_of(writes, data_.target_tokenizer ? "target_tokenizer" : "tokenizer");
    read_pairs(sources, targets);
  }

  const TaskData& data() const override { return data_; }
  TrainingShape shape() const override {
    TrainingShape shape = {.trained_for = TrainedFor::kTranslation,
                           .vocabulary = data_.tokenizer->vocabulary_size(),
                           .end_tokens = {target_special_.end},
                           .start_token = start_token_of(target_special_),
                           .pad_token = start_token_of(target_special_)};
    if (data_.target_tokenizer) shape.target_vocabulary = data_.target_tokenizer->vocabulary_size();
    return shape;
  }

  void make(std::int64_t index, Example& example) const override {
    put_pair(pair_of(index), start_token_of(target_special_), target_special_.end, example);
  }
  std::int64_t counted(std::int64_t index) const override {
    return std::ssize(pair_of(index).target) + 1;
  }
  std::int64_t epoch_examples() const override { return training_; }
  std::int64_t validation_examples() const override { return std::ssize(pairs_) - training_; }
  void make_validation(std::int64_t index, std::int64_t count, Example& example) const override {
    const auto at = static_cast<std::size_t>(training_ + index * validation_examples() / count);
    put_pair(pairs_[at], start_token_of(target_special_), target_special_.end, example);
  }
  std::int64_t tokens_an_example() const override { return tokens_; }
  std::string sizes() const override {
    return fmt::format("{} pairs for training, {} for validation (the last {:g} %).\n", training_,
                       validation_examples(), 100 * config_.validation);
  }

 private:
  void read_pairs(std::span<const TextLine> sources, std::span<const TextLine> targets) {
    const Tokenizer& writes = data_.target_tokenizer ? *data_.target_tokenizer : *data_.tokenizer;
    Digest digest;
    std::int64_t tokens = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      TokenPair pair = {encoded(sources[i], *data_.tokenizer, /*framed=*/true, "data"),
                        encoded(targets[i], writes, /*framed=*/false, "targets")};
      check_length(pair.source.size(), config_.block, sources[i]);
      check_length(pair.target.size() + 1, config_.block, targets[i]);
      digest.add(pair.source);
      digest.add(pair.target);
      tokens += std::ssize(pair.source) + std::ssize(pair.target) + 1;
      pairs_.push_back(std::move(pair));
    }
    data_.digest = digest.value();
    tokens_ = std::max<std::int64_t>(1, tokens / std::max<std::int64_t>(1, std::ssize(pairs_)));
  }

  const TokenPair& pair_of(std::int64_t index) const {
    return pairs_[row_of(config_, index, training_)];
  }

  const TrainConfig& config_;
  TaskData data_;
  SpecialTokens target_special_;
  std::vector<TokenPair> pairs_;
  std::int64_t training_ = 0;  // number for training; the rest is for validation
  std::int64_t tokens_ = 1;
};

}  // namespace

std::unique_ptr<Task> make_seq2seq_task(const TrainConfig& config) {
  return std::make_unique<Seq2seqTask>(config);
}

}  // namespace heed
