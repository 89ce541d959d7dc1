#include "generate/beam_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "generate/forward.h"
#include "generate/rules.h"
#include "generate/text_stream.h"

namespace heed {
namespace {

// A growing text.
struct Beam {
  std::vector<TokenId> ids;                 // prompt and continuation
  std::vector<GeneratedToken> tokens = {};  // of the continuation
  double log_probability = 0;               // of the continuation, with penalties
  std::optional<TextStream> stream = {};    // detects stop strings
  std::int64_t row = 0;                     // in the cache
};

struct Finished {
  Beam beam;
  double score = 0;
  Stopped why = Stopped::kLength;
};

// A beam and a possible next token.
struct Candidate {
  double log_probability;
  std::size_t beam;
  TokenId id;
};

bool better(const Candidate& a, const Candidate& b) {
  if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
  return std::pair(a.beam, a.id) < std::pair(b.beam, b.id);
}

// Normalises log-probabilities.
void renormalise(std::vector<double>& all) {
  const double largest = *std::ranges::max_element(all);
  double sum = 0;
  for (const double value : all) sum += std::exp(value - largest);
  for (double& value : all) value -= largest + std::log(sum);
}

// Keeps the best candidates.
class TopCandidates {
 public:
  explicit TopCandidates(std::size_t most) : most_(most) {}

  void offer(const Candidate& candidate) {
    if (heap_.size() == most_ && !better(candidate, heap_.front())) return;
    heap_.push_back(candidate);
    std::ranges::push_heap(heap_, better);
    if (heap_.size() <= most_) return;
    std::ranges::pop_heap(heap_, better);
    heap_.pop_back();
  }
  std::vector<Candidate> sorted() && {
    std::ranges::sort(heap_, better);
    return std::move(heap_);
  }

 private:
  std::size_t most_;
  std::vector<Candidate> heap_;  // the worst at the top
};

// The search for one prompt.
class Search {
 public:
  Search(const ModelInfo& info, const GenerateArgs& args, const std::vector<TokenId>& prompt)
      : info_(info), args_(args), most_tokens_(most_tokens(info, args, prompt.size())) {
    open_.push_back({.ids = prompt});
    if (!args.stop.empty()) open_[0].stream.emplace(*args.tokenizer, prompt, args.stop);
  }

  bool over() const { return over_; }
  std::vector<Beam>& open() { return open_; }  // best first

  // Adds a token to each: logits[b] are those after open()[b].
  void advance(const std::vector<std::span<const float>>& logits) {
    std::vector<Distribution> distributions;
    for (const std::span<const float> of_beam : logits) {
      check_logits(of_beam);
      distributions.push_back(distribution_of(of_beam));
    }
    const std::vector<Candidate> candidates = best_of(logits, distributions);
    std::vector<Beam> open;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (i >= beams() && open.size() == beams()) break;
      const std::size_t b = candidates[i].beam;
      Beam beam = grown(candidates[i], token_of(candidates[i].id, logits[b], distributions[b]));
      if (const std::optional<Stopped> why = end_of(beam)) {
        if (i < beams()) finish(std::move(beam), *why);
      } else if (open.size() < beams()) {
        open.push_back(std::move(beam));
      }
    }
    open_ = std::move(open);
    over_ = is_over();
  }

  // Best first; if the search was stopped before any text ended, the best open one.
  std::vector<Generated> results(const std::vector<TokenId>& prompt) const {
    std::vector<Generated> results;
    for (const Finished& finished : finished_)
      results.push_back(text_of(finished.beam, finished.score,
                                over_ ? finished.why : Stopped::kInterrupted, prompt));
    if (results.empty())
      results.push_back(text_of(open_[0], score(open_[0], open_[0].tokens.size()),
                                Stopped::kInterrupted, prompt));
    return results;
  }

 private:
  std::size_t beams() const { return static_cast<std::size_t>(args_.beams); }
  bool ends(TokenId id) const { return args_.stop_at_end && info_.ends_with(id); }

  Generated text_of(const Beam& beam, double score, Stopped why,
                    const std::vector<TokenId>& prompt) const {
    Generated result = {.tokens = beam.tokens, .text = {}, .stopped = why, .score = score};
    if (args_.tokenizer == nullptr) return result;
    TextStream stream(*args_.tokenizer, prompt, args_.stop);
    for (const GeneratedToken& token : beam.tokens)
      if (!ends(token.id)) result.text += stream.push(token.id);
    result.text += stream.finish();
    return result;
  }

  double score(const Beam& beam, std::size_t length) const {
    if (length == 0) return 0;
    return beam.log_probability / std::pow(static_cast<double>(length), args_.length_penalty);
  }

  // Has room for as many continuations as beams even if every beam's end tokens rank first.
  std::vector<Candidate> best_of(const std::vector<std::span<const float>>& logits,
                                 const std::vector<Distribution>& distributions) const {
    const std::size_t ends = args_.stop_at_end ? info_.end_tokens.size() : 0;
    TopCandidates best(std::max<std::size_t>(2, 1 + ends) * beams());
    for (std::size_t b = 0; b < open_.size(); ++b) {
      const std::vector<double> behind = log_probabilities(open_[b], logits[b], distributions[b]);
      for (std::size_t id = 0; id < behind.size(); ++id)
        best.offer({open_[b].log_probability + behind[id], b, static_cast<TokenId>(id)});
    }
    return std::move(best).sorted();
  }

  std::vector<double> log_probabilities(const Beam& beam, std::span<const float> logits,
                                        const Distribution& distribution) const {
    std::vector<double> all;
    all.reserve(logits.size());
    for (const float logit : logits) all.push_back(logit - distribution.log_sum);
    if (args_.sampling.repetition_penalty != 1)
      for (const TokenId id : beam.ids) {
        const auto i = static_cast<std::size_t>(id);
        all[i] = (logits[i] - distribution.log_sum) * args_.sampling.repetition_penalty;  // once
      }
    apply_rules(info_, args_, beam.ids, beam.tokens.size(), all);
    if (args_.rules.renormalises) renormalise(all);
    return all;
  }

  Beam grown(const Candidate& candidate, const GeneratedToken& token) const {
    Beam beam = open_[candidate.beam];
    beam.ids.push_back(token.id);
    beam.tokens.push_back(token);
    beam.log_probability = candidate.log_probability;
    if (beam.stream && !ends(token.id)) beam.stream->push(token.id);
    return beam;
  }

  std::optional<Stopped> end_of(const Beam& beam) const {
    if (ends(beam.ids.back())) return Stopped::kEnd;
    if (beam.stream && beam.stream->stopped()) return Stopped::kStop;
    if (std::ssize(beam.tokens) < most_tokens_) return std::nullopt;
    return most_tokens_ == args_.most_tokens ? Stopped::kLength : Stopped::kPositions;
  }

  void finish(Beam beam, Stopped why) {
    const double reached = score(beam, beam.tokens.size());
    const auto worse =
        std::ranges::find_if(finished_, [&](const auto& f) { return f.score < reached; });
    finished_.insert(worse, {std::move(beam), reached, why});
    if (finished_.size() > beams()) finished_.pop_back();
  }

  bool is_over() const {
    if (open_.empty()) return true;
    if (finished_.size() < beams()) return false;
    if (args_.early_stopping == EarlyStopping::kTrue) return true;
    const bool at_the_end =
        args_.early_stopping == EarlyStopping::kNever && args_.length_penalty > 0;
    const std::size_t length =
        at_the_end ? static_cast<std::size_t>(most_tokens_) : open_[0].tokens.size();
    return score(open_[0], length) <= finished_.back().score;
  }

  const ModelInfo& info_;
  const GenerateArgs& args_;
  std::int64_t most_tokens_;
  std::vector<Beam> open_;          // most probable first
  std::vector<Finished> finished_;  // highest score first
  bool over_ = false;
};

// All searches together: their open beams are the rows of one cache.
class Searches {
 public:
  Searches(const Model& model, const GenerateArgs& args)
      : model_(model), args_(args), cache_(cache_of(model, args, args.beams)) {
    for (const auto& prompt : args.prompts) all_.emplace_back(model.info(), args, prompt);
    std::vector<std::int64_t> rows(args.prompts.size());  // before they branch
    std::iota(rows.begin(), rows.end(), 0);
    for (std::size_t i = 0; i < rows.size(); ++i) all_[i].open()[0].row = rows[i];
    cache_.select(rows);
  }

  // False once all searches have ended.
  bool advance() {
    std::vector<std::span<const TokenId>> texts;
    for (Search& search : all_)
      if (!search.over())
        for (const Beam& beam : search.open()) texts.emplace_back(beam.ids);
    const Tensor logits = next_logits(model_, cache_, texts, args_.sources);
    std::size_t row = 0;
    for (Search& search : all_) {
      if (search.over()) continue;
      std::vector<std::span<const float>> behind;
      while (behind.size() < search.open().size()) behind.push_back(row_of(logits, row++));
      search.advance(behind);
    }
    return go_on();
  }

  std::vector<std::vector<Generated>> results() const {
    std::vector<std::vector<Generated>> results;
    for (std::size_t i = 0; i < all_.size(); ++i)
      results.push_back(all_[i].results(args_.prompts[i]));
    return results;
  }

 private:
  bool go_on() {
    std::vector<std::int64_t> rows;
    for (Search& search : all_)
      if (!search.over())
        for (Beam& beam : search.open())
          rows.push_back(std::exchange(beam.row, static_cast<std::int64_t>(rows.size())));
    if (!rows.empty()) cache_.select(rows);
    return !rows.empty();
  }

  const Model& model_;
  const GenerateArgs& args_;
  KvCache cache_;
  std::vector<Search> all_;
};

}  // namespace

std::vector<std::vector<Generated>> beam_hypotheses(const Model& model, const GenerateArgs& args,
                                                    GenerateListener& listener) {
  if (args.prompts.empty()) return {};
  check(model.info(), args);
  Searches searches(model, args);
  while (!listener.stop() && searches.advance()) continue;
  return searches.results();
}

std::vector<Generated> beam_search(const Model& model, const GenerateArgs& args,
                                   GenerateListener& listener) {
  std::vector<Generated> results;
  for (std::vector<Generated>& texts : beam_hypotheses(model, args, listener))
    results.push_back(std::move(texts.front()));
  for (std::size_t row = 0; row < results.size(); ++row) {
    for (const GeneratedToken& token : results[row].tokens) listener.token(row, token);
    if (!results[row].text.empty()) listener.text(row, results[row].text);
  }
  return results;
}

}  // namespace heed
