#include "heed/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "generate/beam_search.h"
#include "generate/forward.h"
#include "generate/rules.h"
#include "generate/text_stream.h"
#include "heed/error.h"
#include "models/model_tokenizer.h"

namespace heed {

class Generation::State {
  // A prompt and its continuation.
  struct Row {
    std::size_t index = 0;
    std::vector<TokenId> ids;  // prompt and continuation
    std::optional<TextStream> stream;
  };

 public:
  State(const Model& model, GenerateArgs args, GenerateListener& listener)
      : model_(model),
        args_(std::move(args)),
        listener_(listener),
        results_(args_.prompts.size()),
        ended_(args_.prompts.size()) {
    check(model.info(), args_);
    if (args_.beams > 1) return;
    cache_ = std::make_unique<KvCache>(cache_of(model, args_, /*beams=*/1));
    for (std::size_t i = 0; i < args_.prompts.size(); ++i) {
      rows_.push_back({.index = i, .ids = args_.prompts[i], .stream = {}});
      if (args_.tokenizer != nullptr)
        rows_.back().stream.emplace(*args_.tokenizer, args_.prompts[i], args_.stop);
    }
  }

  bool step() {
    if (args_.beams > 1) {
      search();
      return false;
    }
    if (rows_.empty()) return false;
    if (listener_.stop()) {
      for (Row& row : rows_) finish(row, Stopped::kInterrupted);
      rows_.clear();
      return false;
    }
    std::vector<std::span<const TokenId>> texts;
    for (const Row& row : rows_) texts.emplace_back(row.ids);
    const Tensor logits = is_past_positions()
                              ? cropped_logits(model_, texts, open_sources())
                              : next_logits(model_, *cache_, texts, args_.sources);  // [rows, 1, V]
    std::vector<std::int64_t> going_on;
    for (std::size_t r = 0; r < rows_.size(); ++r)
      if (next_token(rows_[r], row_of(logits, r))) going_on.push_back(static_cast<std::int64_t>(r));
    keep(going_on);
    return !rows_.empty();
  }

  const std::vector<Generated>& texts() const { return results_; }
  bool has_ended(std::size_t row) const { return ended_.at(row); }

 private:
  bool is_past_positions() const {
    return std::ranges::any_of(
        rows_, [&](const Row& row) { return std::ssize(row.ids) > model_.info().positions; });
  }

  std::vector<std::vector<TokenId>> open_sources() const {
    std::vector<std::vector<TokenId>> sources;
    for (const Row& row : rows_)
      if (!args_.sources.empty()) sources.push_back(args_.sources[row.index]);
    return sources;
  }

  void search() {
    if (std::ranges::find(ended_, false) == ended_.end()) return;
    results_ = beam_search(model_, args_, listener_);
    ended_.assign(ended_.size(), true);
  }

  // False if the text ends with this token.
  bool next_token(Row& row, std::span<const float> logits) {
    const auto position = static_cast<std::int64_t>(row.ids.size());
    const TokenId id = next_id(row, logits);
    const GeneratedToken token = token_of(id, logits, distribution_of(logits));
    Generated& result = results_[row.index];
    result.tokens.push_back(token);
    row.ids.push_back(id);
    listener_.token(row.index, token);

    const bool end = args_.stop_at_end && model_.info().ends_with(id);
    if (row.stream && !end) write(row, row.stream->push(id));
    if (end) return finish(row, Stopped::kEnd);
    if (row.stream && row.stream->stopped()) return finish(row, Stopped::kStop);
    if (std::ssize(result.tokens) == args_.most_tokens) return finish(row, Stopped::kLength);
    if (!args_.crop && position == model_.info().positions) return finish(row, Stopped::kPositions);
    return true;
  }

  TokenId next_id(const Row& row, std::span<const float> logits) const {
    const double uniform = sampling_number(args_.seed, std::ssize(row.ids));
    if (!has_rules(model_.info(), args_.rules))
      return choose(choices(logits, args_.sampling, row.ids), uniform);
    std::vector<double> scores(logits.begin(), logits.end());
    apply_rules(model_.info(), args_, row.ids, results_[row.index].tokens.size(), scores);
    const std::vector<float> allowed(scores.begin(), scores.end());
    return choose(choices(allowed, args_.sampling, row.ids), uniform);
  }

  bool finish(Row& row, Stopped why) {
    if (row.stream) write(row, row.stream->finish());
    results_[row.index].stopped = why;
    ended_[row.index] = true;
    return false;
  }

  void write(const Row& row, const std::string& piece) {
    if (piece.empty()) return;
    results_[row.index].text += piece;
    listener_.text(row.index, piece);
  }

  void keep(const std::vector<std::int64_t>& going_on) {
    if (going_on.size() == rows_.size()) return;
    cache_->select(going_on);
    std::vector<Row> rows;
    for (const std::int64_t r : going_on)
      rows.push_back(std::move(rows_[static_cast<std::size_t>(r)]));
    rows_ = std::move(rows);
  }

  const Model& model_;
  const GenerateArgs args_;
  GenerateListener& listener_;
  std::vector<Generated> results_;
  std::vector<bool> ended_;
  std::vector<Row> rows_;           // unfinished
  std::unique_ptr<KvCache> cache_;  // null: a beam search has its own cache
};

Generation::Generation(const Model& model, GenerateArgs args, GenerateListener& listener)
    : state_(std::make_unique<State>(model, std::move(args), listener)) {}
Generation::~Generation() = default;
bool Generation::step() { return state_->step(); }
const std::vector<Generated>& Generation::texts() const { return state_->texts(); }
bool Generation::has_ended(std::size_t row) const { return state_->has_ended(row); }

std::string_view name(Stopped stopped) {
  switch (stopped) {
    case Stopped::kEnd:
      return "end";
    case Stopped::kStop:
      return "stop";
    case Stopped::kLength:
      return "length";
    case Stopped::kPositions:
      return "positions";
    case Stopped::kInterrupted:
      break;
  }
  return "interrupted";
}

std::vector<Generated> generate(const Model& model, const GenerateArgs& args,
                                GenerateListener& listener) {
  Generation generation(model, args, listener);
  while (generation.step()) {
  }
  return generation.texts();
}

std::vector<Generated> generate(const Model& model, const GenerateArgs& args) {
  GenerateListener nobody;
  return generate(model, args, nobody);
}

std::vector<TokenId> prompt_of(const Model& model, const Tokenizer& tokenizer,
                               std::string_view text) {
  const ModelInfo& info = model.info();
  std::vector<TokenId> ids = tokenizer.encode(text, /*add_special=*/true).ids;
  if (!ids.empty()) {
    require_in_vocabulary("generate", tokenizer, ids,
                          info.reads_source() ? info.source_vocabulary : info.vocabulary);
    return ids;
  }
  if (info.first_token < 0 || info.reads_source())
    fail("generate", "prompt", "empty",
         "at least one character (the model has no first token to start from)");
  if (info.first_token >= info.vocabulary)
    fail("generate", "prompt", "empty",
         fmt::format("at least one character (the model's first token, bos_token_id {}, is outside "
                     "of its vocabulary of {})",
                     info.first_token, info.vocabulary));
  return {static_cast<TokenId>(info.first_token)};
}

}  // namespace heed
