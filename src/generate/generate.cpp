#include "heed/generate/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "generate/text_stream.h"
#include "heed/base/error.h"

namespace heed {
namespace {

void check_prompt(const ModelInfo& info, std::span<const TokenId> prompt) {
  if (prompt.empty()) fail("generate", "prompt", "empty", "at least one token");
  const auto length = static_cast<std::int64_t>(prompt.size());
  if (length > info.positions)
    fail("generate", "prompt", fmt::format("{} tokens long", length),
         fmt::format("at most {} (the model's positions)", info.positions));
  for (const TokenId id : prompt)
    if (id < 0 || id >= info.vocabulary)
      fail("generate", "token", id, fmt::format("0 to {} (the vocabulary)", info.vocabulary - 1));
}

void check_sources(const ModelInfo& info, const GenerateArgs& args) {
  if (args.sources.size() != (info.reads_source() ? args.prompts.size() : 0))
    fail("generate", "sources", fmt::format("a list of {}", args.sources.size()),
         info.reads_source() ? fmt::format("{} entries, one a prompt", args.prompts.size())
                             : "none: the model reads no source");
  for (const auto& source : args.sources) {
    const std::int64_t length = std::ssize(source);
    if (length == 0) fail("generate", "source", "empty", "at least one token");
    if (length > info.source_positions)
      fail("generate", "source", fmt::format("{} tokens long", length),
           fmt::format("at most {} (the model's positions)", info.source_positions));
    for (const TokenId id : source)
      if (id < 0 || id >= info.source_vocabulary)
        fail("generate", "source token", id,
             fmt::format("0 to {} (the vocabulary)", info.source_vocabulary - 1));
  }
}

void check(const ModelInfo& info, const GenerateArgs& args) {
  if (!info.writes())
    fail("generate", "model", info.title, "a decoder, which predicts next tokens");
  if (args.most_tokens < 1) fail("generate", "most_tokens", args.most_tokens, "at least 1");
  check(args.sampling);
  if (!args.stop.empty() && args.tokenizer == nullptr)
    fail("generate", "tokenizer", {}, "one, as stop is given");
  if (std::ranges::find(args.stop, "") != args.stop.end())
    fail("generate", "stop", "empty", "at least one character");
  for (const auto& prompt : args.prompts) check_prompt(info, prompt);
  check_sources(info, args);
}

// Rows of ids side by side, padded with 0.
struct PaddedRows {
  Tensor ids;  // [rows, longest]
  std::vector<std::int64_t> lengths;
};

PaddedRows padded(const std::vector<std::span<const TokenId>>& rows) {
  PaddedRows padded;
  std::int64_t longest = 0;
  for (const auto& row : rows) {
    padded.lengths.push_back(std::ssize(row));
    longest = std::max<std::int64_t>(longest, std::ssize(row));
  }
  padded.ids = Tensor::zeros({std::ssize(rows), longest}, DType::kI32);
  for (std::size_t r = 0; r < rows.size(); ++r)
    std::ranges::copy(rows[r], padded.ids.data<TokenId>() + static_cast<std::int64_t>(r) * longest);
  return padded;
}

struct Belief {
  double log_sum = 0;
  double entropy = 0;
};

// Probability and entropy of softmax(logits), in double.
Belief belief_of(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  double weighted = 0;  // sum of e^x x over x = logit - largest
  for (const float logit : logits) {
    const double x = logit - largest;
    const double weight = std::exp(x);
    if (weight == 0) continue;
    sum += weight;
    weighted += weight * x;
  }
  return {.log_sum = largest + std::log(sum), .entropy = std::log(sum) - weighted / sum};
}

// A prompt on its way.
struct Row {
  std::size_t index = 0;
  std::vector<TokenId> ids;  // prompt and continuation
  std::optional<TextStream> stream;
};

class Generation {
 public:
  Generation(const Model& model, const GenerateArgs& args, GenerateListener& listener)
      : model_(model),
        args_(args),
        listener_(listener),
        results_(args.prompts.size()),
        cache_(make_cache(model, std::ssize(args.prompts), longest(), args.cache)) {
    for (std::size_t i = 0; i < args.prompts.size(); ++i) {
      rows_.push_back({.index = i, .ids = args.prompts[i], .stream = {}});
      if (args.tokenizer != nullptr)
        rows_.back().stream.emplace(*args.tokenizer, args.prompts[i], args.stop);
    }
  }

  std::vector<Generated> run() {
    while (!rows_.empty()) {
      if (listener_.stop()) {
        for (Row& row : rows_) finish(row, Stopped::kInterrupted);
        break;
      }
      const Tensor logits = feed();  // [rows, 1, V]
      std::vector<std::int64_t> going_on;
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        const float* row = logits.data<float>() + static_cast<std::int64_t>(r) * logits.dim(2);
        if (next_token(rows_[r], {row, static_cast<std::size_t>(logits.dim(2))}))
          going_on.push_back(static_cast<std::int64_t>(r));
      }
      keep(going_on);
    }
    return std::move(results_);
  }

 private:
  // Tokens that the cache needs room for: the last one of a text is not fed.
  std::int64_t longest() const {
    std::size_t most = 1;
    for (const auto& prompt : args_.prompts) most = std::max(most, prompt.size());
    const std::int64_t positions = model_.info().positions;
    const std::int64_t room = positions - static_cast<std::int64_t>(most);
    return room < args_.most_tokens ? positions
                                    : static_cast<std::int64_t>(most) + args_.most_tokens - 1;
  }

  // The tokens that the cache lacks: first the prompts, of any lengths, then a token a row. The
  // first pass reads the sources too.
  Tensor feed() {
    Run run;
    run.cache = &cache_;
    run.last_position_only = true;
    // The prompts: bits of bf16 products differ in bulk, so all of them or none.
    run.in_bulk = std::ranges::all_of(cache_.lengths(), [](auto n) { return n == 0; }) &&
                  packed_type(model_.parameters()) == DType::kBF16;
    std::vector<std::span<const TokenId>> missing;
    for (std::size_t r = 0; r < rows_.size(); ++r)
      missing.push_back(
          std::span(rows_[r].ids).subspan(static_cast<std::size_t>(cache_.lengths()[r])));
    const PaddedRows text = padded(missing);
    run.extents.query_length = text.lengths;
    Batch batch = {.ids = text.ids};
    PaddedRows source;
    if (!args_.sources.empty() && cache_.source(0) == nullptr) {
      source = padded({args_.sources.begin(), args_.sources.end()});
      batch.source = source.ids;
      batch.source_lengths = source.lengths;
    }
    return model_.forward(batch, run);
  }

  // False where the text ends with this token.
  bool next_token(Row& row, std::span<const float> logits) {
    const auto position = static_cast<std::int64_t>(row.ids.size());
    const TokenId id =
        choose(choices(logits, args_.sampling, row.ids), sampling_number(args_.seed, position));
    const Belief belief = belief_of(logits);
    const double logit = logits[static_cast<std::size_t>(id)];
    const GeneratedToken token = {id, std::exp(logit - belief.log_sum), belief.entropy};
    Generated& result = results_[row.index];
    result.tokens.push_back(token);
    row.ids.push_back(id);
    listener_.token(row.index, token);

    const bool end = args_.stop_at_end && model_.info().ends_with(id);
    if (row.stream && !end) write(row, row.stream->push(id));
    if (end) return finish(row, Stopped::kEnd);
    if (row.stream && row.stream->stopped()) return finish(row, Stopped::kStop);
    if (std::ssize(result.tokens) == args_.most_tokens) return finish(row, Stopped::kLength);
    if (position == model_.info().positions) return finish(row, Stopped::kPositions);
    return true;
  }

  bool finish(Row& row, Stopped why) {
    if (row.stream) write(row, row.stream->finish());
    results_[row.index].stopped = why;
    return false;
  }

  void write(const Row& row, const std::string& piece) {
    if (piece.empty()) return;
    results_[row.index].text += piece;
    listener_.text(row.index, piece);
  }

  void keep(const std::vector<std::int64_t>& going_on) {
    if (going_on.size() == rows_.size()) return;
    cache_.keep(going_on);
    std::vector<Row> rows;
    for (const std::int64_t r : going_on)
      rows.push_back(std::move(rows_[static_cast<std::size_t>(r)]));
    rows_ = std::move(rows);
  }

  const Model& model_;
  const GenerateArgs& args_;
  GenerateListener& listener_;
  std::vector<Generated> results_;
  std::vector<Row> rows_;  // that go on
  KvCache cache_;
};

}  // namespace

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
  check(model.info(), args);
  return Generation(model, args, listener).run();
}

std::vector<Generated> generate(const Model& model, const GenerateArgs& args) {
  GenerateListener nobody;
  return generate(model, args, nobody);
}

std::vector<TokenId> prompt_of(const Model& model, const Tokenizer& tokenizer,
                               std::string_view text) {
  std::vector<TokenId> ids = tokenizer.encode(text, /*add_special=*/true).ids;
  if (!ids.empty()) return ids;
  if (model.info().first_token < 0)
    fail("generate", "prompt", "empty",
         "at least one character (the model has no first token to start from)");
  return {static_cast<TokenId>(model.info().first_token)};
}

}  // namespace heed
