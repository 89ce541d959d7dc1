#include "inspect/heads/scores.h"

#include <algorithm>
#include <array>

#include "heed/base/error.h"
#include "inspect/heads/sides.h"

namespace heed {
namespace {

// A new score is a line here, and a file of its own beside distance_score.cpp.
constexpr std::array kScores = {
    Score{{"previous", "prev", "mean weight on the token before", true}, neighbour_scores, 0},
    Score{{"current", "cur", "mean weight on the token itself", true}, neighbour_scores, 1},
    Score{{"next", "next", "mean weight on the token after", true, true}, neighbour_scores, 2},
    Score{{"sink", "sink", "mean weight on the first token", true}, neighbour_scores, 3},
    Score{{"distance", "back", "mean distance to the keys, in tokens"}, distance_score},
    Score{{"entropy", "entropy", "mean entropy of a row, in nats"}, neighbour_scores, 4},
    Score{
        {"elsewhere", "else", "mean of the largest weight past the first, previous and own token"},
        neighbour_scores,
        5}};

constexpr auto kInfos = [] {
  std::array<ScoreInfo, kScores.size()> infos;
  for (std::size_t i = 0; i < infos.size(); ++i) infos[i] = kScores[i].info;
  return infos;
}();

}  // namespace

std::span<const ScoreInfo> score_infos() { return kInfos; }

double HeadScores::of(std::string_view name) const {
  const auto found = std::ranges::find(kInfos, name, &ScoreInfo::name);
  if (found == kInfos.end())
    fail({.code = ErrorCode::kNotFound,
          .op = "scores",
          .argument = "name",
          .found = name,
          .expected = "a score of a head"});
  return values.at(static_cast<std::size_t>(found - kInfos.begin()));
}

ScoreSweep::ScoreSweep() {
  std::vector<decltype(Score::make)> made;
  for (const Score& score : kScores) {
    const auto found = std::ranges::find(made, score.make);
    const auto at = static_cast<std::size_t>(found - made.begin());
    if (found == made.end()) {
      made.push_back(score.make);
      observers_.push_back(score.make());
    }
    of_score_.push_back(observers_[at].get());
  }
}

void ScoreSweep::add_to(std::vector<Observer*>& observers) const {
  for (const auto& observer : observers_) observers.push_back(observer.get());
}

std::vector<double> ScoreSweep::values(std::int64_t head) const {
  std::vector<double> values;
  for (std::size_t i = 0; i < kScores.size(); ++i)
    values.push_back(of_score_[i]->score(head, kScores[i].which));
  return values;
}

std::vector<HeadScores> score_heads(const LayerAttention& layer, int index, Stack stack,
                                    std::optional<std::int64_t> split) {
  const ScoreSweep sweep;
  std::vector<Observer*> observers;
  sweep.add_to(observers);
  observe(layer.args(), layer.attended(), observers);
  std::vector<HeadScores> scores;
  for (int head = 0; head < layer.q.dim(1); ++head)
    scores.push_back({{stack, index, head}, sweep.values(head)});
  for (HeadScores& head : scores) score_sides(head, layer, split);
  return scores;
}

std::vector<HeadScores> score_heads(const Session& session) {
  std::vector<HeadScores> scores;
  for (const SessionStack& stack : session.stacks)
    for (const LayerAttention& layer : stack.layers) {
      const auto index = static_cast<int>(&layer - stack.layers.data());
      std::ranges::move(score_heads(layer, index, stack.shape.stack, session.split),
                        std::back_inserter(scores));
    }
  return scores;
}

}  // namespace heed
