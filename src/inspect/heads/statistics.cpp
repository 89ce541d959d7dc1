#include "inspect/heads/statistics.h"

#include "heed/ops/observers/expected_distance.h"
#include "heed/ops/observers/offset_profile.h"
#include "inspect/answers/json_text.h"
#include "inspect/heads/head_score_observer.h"
#include "inspect/session/cancel.h"

namespace heed::server {
namespace {

std::vector<float> of_head(const Tensor& tensor, std::int64_t head) {  // [1, H, n]
  const std::int64_t count = tensor.dim(2);
  const float* begin = tensor.data<float>() + head * count;
  return {begin, begin + count};
}

double mean(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

struct Sweep {
  ExpectedDistanceObserver distance;
  OffsetProfileObserver profile{0, kProfile - 1};
  MarginsObserver margins;
  HeadScoreObserver scores;
};

HeadStatistics statistics_of(const Sweep& sweep, const HeadScores& scores) {
  return {.scores = scores,
          .distance = mean(of_head(sweep.distance.distance, scores.head)),
          .profile = of_head(sweep.profile.mean, scores.head),
          .margins = sweep.margins.margins(scores.head)};
}

std::string head_json(const HeadStatistics& head, const std::vector<ScoreName>& names) {
  std::string json = fmt::format("{{\"head\":{}", head.scores.head);
  for (const ScoreName& score : names)
    json += fmt::format(",\"{}\":{}", score.name, json_number(score.value(head)));
  return json + ",\"profile\":" + json_numbers(head.profile) + "}";
}

}  // namespace

std::vector<HeadStatistics> layer_statistics(const LayerAttention& layer, int index,
                                             const std::function<void()>& check,
                                             const OverviewObserver::Done& overview) {
  check();
  const std::int64_t length = layer.k.dim(2);
  Sweep sweep;
  SweepStop stop(check);
  OverviewObserver overviews(length, overview);
  std::vector<Observer*> observers = {&stop, &sweep.distance, &sweep.profile, &sweep.margins,
                                      &sweep.scores};
  if (has_coarse(length)) observers.push_back(&overviews);
  observe(layer.args(), layer.attended(), observers);
  std::vector<HeadStatistics> heads;
  for (const HeadScores& scores : sweep.scores.scores(index))
    heads.push_back(statistics_of(sweep, scores));
  return heads;
}

std::vector<ScoreName> score_names(bool causal) {
  using Head = const HeadStatistics&;
  std::vector<ScoreName> names = {
      {"previous", "prev", "mean weight on the token before",
       [](Head head) { return head.scores.previous; }},
      {"current", "cur", "mean weight on the token itself",
       [](Head head) { return head.scores.self; }},
      {"next", "next", "mean weight on the token after",
       [](Head head) { return head.scores.next; }},
      {"sink", "sink", "mean weight on the first token, the attention sink",
       [](Head head) { return head.scores.first; }},
      {"distance", "back", "mean distance to the keys, in tokens",
       [](Head head) { return head.distance; }},
      {"entropy", "entropy", "mean entropy of a row, in nats",
       [](Head head) { return head.scores.entropy; }},
      {"elsewhere", "else",
       "mean of the largest weight on a key that is not the first, the own or the previous token",
       [](Head head) { return head.scores.elsewhere; }}};
  if (causal)
    std::erase_if(names,
                  [](const ScoreName& name) { return name.name == std::string_view("next"); });
  return names;
}

std::string heads_json(const std::vector<HeadStatistics>& heads, bool causal) {
  const std::vector<ScoreName> names = score_names(causal);
  return json_list(heads, [&](const HeadStatistics& head) { return head_json(head, names); });
}

}  // namespace heed::server
