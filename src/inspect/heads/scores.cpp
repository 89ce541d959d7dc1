#include "inspect/heads/scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/wording.h"
#include "heed/error.h"
#include "inspect/choice.h"
#include "inspect/heads/late_scores.h"

namespace heed {
namespace {

using enum ScoreUnit;
using enum ScoreFrom;

// A new score is one line here, and a file like coverage_score.cpp.
constexpr std::array kScores = {
    Score{{.name = "previous",
           .short_name = "prev",
           .about = "mean weight on the token before",
           .is_share = true,
           .title = "1 back",
           .threshold = 0.4},
          neighbour_scores,
          0},
    Score{{.name = "current",
           .short_name = "cur",
           .about = "mean weight on the token itself",
           .is_share = true,
           .title = "on itself",
           .threshold = 0.4},
          neighbour_scores,
          1},
    Score{{.name = "next",
           .short_name = "next",
           .about = "mean weight on the token after",
           .is_share = true,
           .looks_ahead = true,
           .title = "1 ahead",
           .threshold = 0.4},
          neighbour_scores,
          2},
    Score{{.name = "sink",
           .short_name = "sink",
           .about = "mean weight on the first token",
           .is_share = true,
           .title = "on the first token",
           .threshold = 0.4},
          neighbour_scores,
          3},
    Score{{.name = "distance",
           .short_name = "back",
           .about = "mean distance to the keys, in tokens",
           .title = "tokens back",
           .unit = kTokens},
          distance_score},
    Score{{.name = "entropy",
           .short_name = "entropy",
           .about = "mean entropy of a row, in nats",
           .title = "nats",
           .unit = kNats},
          neighbour_scores,
          4},
    Score{{.name = "elsewhere",
           .short_name = "else",
           .about = "mean of the largest weight past the first, previous, own and next token",
           .title = "largest far weight",
           .threshold = 0.4},
          neighbour_scores,
          5},
    Score{{.name = "normalised_entropy",
           .short_name = "spread",
           .about = "how evenly a row spreads its weight, from 0 (one key) to 1 (all keys alike)",
           .title = "\u00f7 log of keys"},
          neighbour_scores,
          6},
    Score{{.name = "confidence",
           .short_name = "peak",
           .about = "mean of the largest weight of a row",
           .title = "largest weight"},
          neighbour_scores,
          7},
    Score{{.name = "local",
           .short_name = "local",
           .about = "mean weight within four tokens, of rows that see more",
           .title = "within 4 tokens",
           .threshold = 0.8},
          local_score},
    Score{{.name = "duplicate",
           .short_name = "dup",
           .about = "mean weight on other places of the same token",
           .is_share = true,
           .title = "on the text",
           .threshold = 0.2},
          duplicate_score},
    Score{{.name = "induction",
           .short_name = "induc",
           .about = "mean weight on what followed the same token elsewhere",
           .is_share = true,
           .title = "on the text",
           .threshold = 0.2},
          induction_score},
    Score{{.name = "delimiter",
           .short_name = "delim",
           .about = "mean weight on special tokens past the first, punctuation and line ends",
           .is_share = true,
           .title = ". , [SEP]",
           .threshold = 0.4},
          delimiter_score},
    Score{{.name = "same_word",
           .short_name = "word",
           .about = "mean weight on the other pieces of the same word",
           .is_share = true,
           .title = "its other pieces",
           .threshold = 0.4},
          same_word_score},
    Score{{.name = "value_weighted",
           .short_name = "carried",
           .about = "what a row carries, its weights times |W v| (lengths of what values write)",
           .title = "p |W v|",
           .unit = kSize},
          value_scores,
          0},
    Score{{.name = "value_sink",
           .short_name = "v sink",
           .about = "the first token's share of what a row carries, its weights times |W v|",
           .title = "of p |W v|",
           .threshold = 0.4},
          value_scores,
          1},
    Score{{.name = "coverage",
           .short_name = "cover",
           .about = "mean over source tokens of the weight received, each at most 1",
           .title = "source tokens read",
           .reads_source = true},
          coverage_score},
    Score{{.name = "image",
           .short_name = "image",
           .about = "mean weight on images, over tokens outside of them",
           .title = "mass on image",
           .of_images = true},
          image_scores,
          0},
    Score{{.name = "image_spread",
           .short_name = "im use",
           .about = "e^entropy of the weights on images over the number of their cells: 1 is even",
           .title = "spread over image",
           .of_images = true},
          image_scores,
          1},
    Score{.info = {.name = "probe_induction",
                   .short_name = "p induc",
                   .about = "mean weight on what followed the same token, on random tokens twice",
                   .title = "on the probe",
                   .threshold = 0.2,
                   .from = kProbe},
          .late = &ProbedHead::induction},
    Score{.info = {.name = "probe_duplicate",
                   .short_name = "p dup",
                   .about = "mean weight on the same token, on random tokens twice",
                   .title = "on the probe",
                   .threshold = 0.2,
                   .from = kProbe},
          .late = &ProbedHead::duplicate},
    Score{.info = {.name = "without",
                   .short_name = "without",
                   .about = "increase in loss when the head is ablated, nats per token",
                   .title = "increase in loss, nats",
                   .unit = kNats,
                   .from = kRun},
          .rows = &LateScores::losses_without,
          .is_of_next = true,
          .more_is_worse = true},
    Score{.info = {.name = "direct",
                   .short_name = "direct",
                   .about =
                       "direct contribution of the head to the logit of the next token of the text",
                   .title = "logit of the next token",
                   .unit = kNats,
                   .from = kRun},
          .rows = &LateScores::direct}};

constexpr auto kInfos = [] {
  std::array<ScoreInfo, kScores.size()> infos;
  for (std::size_t i = 0; i < infos.size(); ++i) infos[i] = kScores[i].info;
  return infos;
}();

}  // namespace

std::string_view unit_name(ScoreUnit unit) {
  constexpr std::array<std::string_view, 4> kNames = {"share", "tokens", "nats", "size"};
  return kNames.at(static_cast<std::size_t>(unit));
}

std::string_view from_name(ScoreFrom from) {
  constexpr std::array<std::string_view, 3> kNames = {"text", "probe", "run"};
  return kNames.at(static_cast<std::size_t>(from));
}

std::span<const ScoreInfo> score_infos() { return kInfos; }
std::span<const Score> all_scores() { return kScores; }

bool has_score(const StackShape& shape, const ScoreInfo& info) {
  return !(info.looks_ahead && shape.causal) &&
         !(info.reads_source && shape.stack != Stack::kCross) &&
         !(info.of_images && !shape.has_images);
}

std::size_t score_index(std::string_view name) {
  const auto found = std::ranges::find(kInfos, name, &ScoreInfo::name);
  if (found == kInfos.end()) {
    std::vector<std::string_view> names;
    for (const ScoreInfo& info : kInfos) names.push_back(info.name);
    fail("scores", "name", name, fmt::format("one of {}", joined(names, ", ")),
         ErrorCode::kNotFound);
  }
  return static_cast<std::size_t>(found - kInfos.begin());
}

std::optional<bool> ScoreObserver::counts(int, std::int64_t, std::int64_t) const { return {}; }

double HeadScores::of(std::string_view name) const { return values.at(score_index(name)); }

ScoreSweep::ScoreSweep(const ScoredLayer& layer) {
  std::vector<decltype(Score::make)> made;
  for (const Score& score : kScores) {
    of_score_.push_back(nullptr);
    if (score.make == nullptr) continue;
    const auto found = std::ranges::find(made, score.make);
    const auto at = static_cast<std::size_t>(found - made.begin());
    if (found == made.end()) {
      made.push_back(score.make);
      observers_.push_back(score.make(layer));
    }
    of_score_.back() = observers_[at].get();
  }
}

void ScoreSweep::add_to(std::vector<Observer*>& observers) const {
  for (const ScoreObserverPointer& observer : observers_)
    if (observer) observers.push_back(observer.get());
}

std::vector<double> ScoreSweep::values(std::int64_t head, ScoreForm form) const {
  std::vector<double> values;
  for (std::size_t i = 0; i < kScores.size(); ++i)
    values.push_back(of_score_[i] != nullptr ? of_score_[i]->score(head, kScores[i].which, form)
                                             : kNoScore);
  return values;
}

HeadScores ScoreSweep::scores(const Place& place) const {
  return {.place = place,
          .values = values(place.head, ScoreForm::kRaw),
          .adjusted = values(place.head, ScoreForm::kSinkAdjusted)};
}

namespace {

std::vector<HeadScores> swept(const LayerAttention& layer, const Place& first,
                              const ScoredLayer& known) {
  const ScoreSweep sweep(known);
  std::vector<Observer*> observers;
  sweep.add_to(observers);
  observe(layer.args(), layer.attended(), observers);
  std::vector<HeadScores> scores;
  for (int head = 0; head < layer.q.dim(1); ++head)
    scores.push_back(sweep.scores({first.stack, first.layer, head}));
  return scores;
}

}  // namespace

std::vector<HeadScores> score_heads(const LayerAttention& layer, int index, Stack stack) {
  ScoredLayer known;
  if (layer.write_lengths.given()) known.write_lengths = layer.write_lengths;
  known.has_values = layer.v.dim(3) > 0;
  return swept(layer, {stack, index, 0}, known);
}

std::vector<HeadScores> score_heads(const Session& session, Stack stack, int layer) {
  const LayerAttention& attention = session.at({stack, layer, 0});
  std::vector<HeadScores> scores =
      swept(attention, {stack, layer, 0}, scored_layer(session, stack, layer));
  for (HeadScores& head : scores) score_sides(head, attention, session.split);
  return scores;
}

std::vector<HeadScores> score_heads(const Session& session) { return score_heads(session, {}); }

std::vector<HeadScores> score_heads(const Session& session, const std::function<void()>& scored) {
  std::vector<HeadScores> scores;
  for (const SessionStack& stack : session.stacks)
    for (int layer = 0; layer < std::ssize(stack.layers); ++layer) {
      if (!session.keeps(stack.shape, layer)) continue;
      std::ranges::move(score_heads(session, stack.shape.stack, layer), std::back_inserter(scores));
      if (scored) scored();
    }
  return scores;
}

}  // namespace heed
