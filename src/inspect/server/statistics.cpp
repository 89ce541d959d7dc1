#include "inspect/server/statistics.h"

#include <algorithm>
#include <cmath>

#include "heed/ops/observers/entropy.h"
#include "heed/ops/observers/expected_distance.h"
#include "heed/ops/observers/mass.h"
#include "heed/ops/observers/offset_profile.h"
#include "heed/ops/observers/received.h"
#include "inspect/server/cancel.h"
#include "inspect/server/json_text.h"

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
  explicit Sweep(std::int64_t length)
      : sums(std::vector<std::int32_t>(static_cast<std::size_t>(length), 0), 1) {}
  EntropyObserver entropy;
  ExpectedDistanceObserver distance;
  OffsetProfileObserver profile{0, kProfile - 1};
  ReceivedObserver received;
  MassObserver sums;  // of all keys: 1, if all is well
};

HeadStatistics statistics_of(const Sweep& sweep, const HeadScores& scores) {
  const std::int64_t head = scores.head;
  HeadStatistics statistics{.scores = scores,
                            .distance = mean(of_head(sweep.distance.distance, head)),
                            .profile = of_head(sweep.profile.mean, head),
                            .received = of_head(sweep.received.received, head),
                            .keys_in_use = of_head(sweep.entropy.entropy, head)};
  for (float& entropy : statistics.keys_in_use) entropy = std::exp(entropy);
  const std::int64_t length = sweep.sums.mass.dim(2);
  const float* sum = sweep.sums.mass.data<float>() + head * length;
  for (std::int64_t row = 0; row < length; ++row)
    statistics.row_sum_error =
        std::max(statistics.row_sum_error, std::abs(static_cast<double>(sum[row]) - 1));
  return statistics;
}

std::string head_json(const HeadStatistics& head, const std::vector<ScoreName>& names) {
  std::string json = fmt::format("{{\"head\":{}", head.scores.head);
  for (const ScoreName& score : names)
    json += fmt::format(",\"{}\":{}", score.name, json_number(score.value(head)));
  return json + ",\"profile\":" + json_numbers(head.profile) + "}";
}

}  // namespace

std::vector<HeadStatistics> layer_statistics(const LayerAttention& layer, int index,
                                             const std::function<void()>& check) {
  check();
  Sweep sweep(layer.k.dim(2));
  SweepStop stop(check);
  Observer* const observers[] = {&stop,          &sweep.entropy,  &sweep.distance,
                                 &sweep.profile, &sweep.received, &sweep.sums};
  observe(layer.args(), layer.attended(), observers);
  check();
  std::vector<HeadStatistics> heads;
  for (const HeadScores& scores : score_heads(layer, index))
    heads.push_back(statistics_of(sweep, scores));
  return heads;
}

std::vector<ScoreName> score_names(bool causal) {
  using Head = const HeadStatistics&;
  std::vector<ScoreName> names = {
      {"previous", "prev", "mean weight on the token before",
       [](Head head) { return head.scores.previous; }},
      {"self", "self", "mean weight on the token itself",
       [](Head head) { return head.scores.self; }},
      {"next", "next", "mean weight on the token after",
       [](Head head) { return head.scores.next; }},
      {"first", "first", "mean weight on the first token: the sink's share",
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
