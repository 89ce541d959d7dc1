// Masked tokens of running text.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/philox.h"
#include "heed/error.h"
#include "train/crops.h"
#include "train/task.h"
#include "train/text_data.h"

namespace heed {
namespace {

// A word continues with letters, digits and parts of characters, or with pieces that the file marks
// with ##.
bool goes_on(const Tokenizer& tokenizer, TokenId id) {
  if (tokenizer.piece(id).starts_with("##")) return true;
  const std::string bytes = tokenizer.token_bytes(id);
  if (bytes.empty()) return false;
  const auto first = static_cast<unsigned char>(bytes[0]);
  return first >= 0x80 || std::isalnum(first) != 0;
}

// In WordPiece files every other piece begins a word; elsewhere words begin with a space.
std::vector<bool> beginnings(const Tokenizer& tokenizer) {
  const std::int64_t size = tokenizer.vocabulary_size();
  bool marks = false;
  for (TokenId id = 0; id < size && !marks; ++id) marks = tokenizer.piece(id).starts_with("##");
  std::vector<bool> begins;
  for (TokenId id = 0; id < size; ++id)
    begins.push_back(marks ? !tokenizer.piece(id).starts_with("##") : !goes_on(tokenizer, id));
  return begins;
}

/// The model must predict a fraction `masked` of a crop's tokens: 80 % of them are replaced by the
/// mask token, 10 % by a random one, and 10 % are unchanged. With `whole_words` the tokens of a
/// word are chosen together. Crops are in the tokenizer's frame ([CLS] ... [SEP]). A fraction
/// `pairs` of the examples are two texts ([CLS] A [SEP] B [SEP]): in half of them B continues after
/// A; in the others it begins inside A, so that tokens masked in one text can be read in the other,
/// as in translation language modelling (Lample & Conneau 2019, section 3.3).
class MlmTask : public Task {
 public:
  MlmTask(const TrainConfig& config, TextData data)
      : config_(config),
        data_(std::move(data)),
        special_(special_tokens_of(*data_.tokenizer)),
        pair_(pair_frame_of(*data_.tokenizer)) {
    const Tokenizer& tokenizer = *data_.tokenizer;
    if (special_.mask < 0)
      fail("train", "tokenizer", "without a mask token", "[MASK] or <mask> in its vocabulary");
    const std::int64_t around = config_.pairs > 0 ? pair_.tokens() + 3 : frame_tokens();
    if (config_.block <= around)
      fail("train", "block", config_.block,
           config_.pairs > 0 ? fmt::format("above {}, the least for a pair of texts", around)
                             : fmt::format("above {}, the tokens around a text", around));
    for (TokenId id = 0; id < tokenizer.vocabulary_size(); ++id)
      is_special_.push_back(tokenizer.is_special(id));
    begins_word_ = beginnings(tokenizer);
  }

  const TaskData& data() const override { return data_; }
  TrainingShape shape() const override {
    return {.trained_for = TrainedFor::kMaskedToken,
            .vocabulary = data_.tokenizer->vocabulary_size(),
            .pad_token = special_.pad};
  }
  void make(std::int64_t index, Example& example) const override {
    const auto seed = static_cast<std::uint64_t>(config_.seed);
    const std::int64_t begin =
        config_.epochs > 0 ? shuffled(seed, index, epoch_examples()) * text_tokens()
                           : random_crop(seed, index, std::ssize(data_.train), text_tokens());
    Random random = random_for(RandomUse::kMasks, seed, index, kWordsOfExample);
    frame(data_.train, begin, random, example);
    mask(random, example);
  }

  std::int64_t epoch_examples() const override {
    return (std::ssize(data_.train) - 1) / text_tokens();
  }
  std::int64_t validation_examples() const override {
    return config_.validation == 0 ? 0 : (std::ssize(data_.validation) - 1) / text_tokens();
  }
  void make_validation(std::int64_t index, std::int64_t count, Example& example) const override {
    const std::int64_t begin = even_crop(index, count, std::ssize(data_.validation), text_tokens());
    // Depends on the place, not the index: the same masks whichever part of the text is read.
    Random random = random_for(RandomUse::kValidationMasks,
                               static_cast<std::uint64_t>(config_.seed), begin, kWordsOfExample);
    frame(data_.validation, begin, random, example);
    mask(random, example);
  }

  std::int64_t tokens_an_example() const override { return config_.block; }
  std::string sizes() const override { return stream_sizes(config_, data_); }

 private:
  std::int64_t frame_tokens() const {
    return std::ssize(special_.before) + std::ssize(special_.behind);
  }
  std::int64_t text_tokens() const { return config_.block - frame_tokens(); }
  // The text from `begin` in a stream, alone or as a pair.
  void frame(std::span<const TokenId> stream, std::int64_t begin, Random& random,
             Example& example) const {
    const auto text =
        stream.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(text_tokens()));
    constexpr std::uint64_t kParts = 1'000'000;
    if (config_.pairs > 0 && static_cast<double>(random.below(kParts)) < config_.pairs * kParts) {
      frame_pair(text, random, example);
    } else {
      example.ids = special_.before;
      example.ids.insert(example.ids.end(), text.begin(), text.end());
      example.ids.insert(example.ids.end(), special_.behind.begin(), special_.behind.end());
      if (config_.pairs > 0) example.types.assign(example.ids.size(), pair_.first_type);
    }
    example.targets.assign(example.ids.size(), kIgnoredTarget);
  }

  void frame_pair(std::span<const TokenId> text, Random& random, Example& example) const {
    const std::size_t tokens =
        text.size() - static_cast<std::size_t>(pair_.tokens() - frame_tokens());
    const std::size_t half = tokens / 2;
    const std::size_t first = half / 2 + random.below(half + 1);
    const std::size_t begin = random.below(2) == 0 ? first : random.below(first + 1);
    const auto add = [&example](std::span<const TokenId> ids, TokenId type) {
      example.ids.insert(example.ids.end(), ids.begin(), ids.end());
      example.types.resize(example.ids.size(), type);
    };
    add(pair_.before, pair_.first_type);
    add(text.first(first), pair_.first_type);
    add(pair_.between, pair_.first_type);
    add(text.subspan(begin, tokens - first), pair_.second_type);
    add(pair_.behind, pair_.second_type);
  }

  void mask(Random& random, Example& example) const {
    std::vector<Word> words = words_of(example);
    std::int64_t tokens = 0;
    for (const Word& word : words) tokens += word.end - word.begin;
    std::int64_t left =
        std::max<std::int64_t>(1, std::llround(config_.mask_share * static_cast<double>(tokens)));
    for (std::size_t i = 0; i < words.size() && left > 0; ++i) {
      std::swap(words[i], words[i + random.below(words.size() - i)]);
      const Word& word = words[i];
      if (word.end - word.begin > left && i + 1 < words.size()) continue;
      left -= word.end - word.begin;
      for (auto at = static_cast<std::size_t>(word.begin); std::cmp_less(at, word.end); ++at) {
        example.targets[at] = example.ids[at];
        const std::uint64_t chance = random.below(10);
        if (chance < 8) example.ids[at] = special_.mask;
        if (chance == 8) example.ids[at] = random_token(random);
      }
    }
  }

  // Positions [begin, end) of tokens that are masked together.
  struct Word {
    std::int64_t begin, end;
  };
  std::vector<Word> words_of(const Example& example) const {
    std::vector<Word> words;
    for (std::int64_t i = 0; i < std::ssize(example.ids); ++i) {
      const auto id = static_cast<std::size_t>(example.ids[static_cast<std::size_t>(i)]);
      if (is_special_[id]) continue;
      const bool joins =
          config_.whole_words && !begins_word_[id] && !words.empty() && words.back().end == i;
      if (joins)
        words.back().end = i + 1;
      else
        words.push_back({i, i + 1});
    }
    return words;
  }

  TokenId random_token(Random& random) const {
    for (;;) {
      const auto id = static_cast<std::size_t>(random.below(is_special_.size()));
      if (!is_special_[id]) return static_cast<TokenId>(id);
    }
  }

  const TrainConfig& config_;
  TextData data_;
  SpecialTokens special_;
  PairFrame pair_;
  std::vector<bool> is_special_;   // by id
  std::vector<bool> begins_word_;  // by id
};

}  // namespace

std::unique_ptr<Task> make_mlm_task(const TrainConfig& config, TextData data) {
  return std::make_unique<MlmTask>(config, std::move(data));
}

}  // namespace heed
