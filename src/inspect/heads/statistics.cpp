#include "inspect/heads/statistics.h"

#include "heed/observe.h"
#include "inspect/heads/scores.h"
#include "inspect/session/cancel.h"

namespace heed {
namespace {

std::vector<float> of_head(const Tensor& tensor, std::int64_t head) {  // [1, H, n]
  const std::int64_t count = tensor.dim(2);
  const float* begin = tensor.data<float>() + head * count;
  return {begin, begin + count};
}

}  // namespace

std::vector<HeadStatistics> layer_statistics(const LayerAttention& layer, const Place& first,
                                             const ScoredLayer& known,
                                             const std::function<void()>& check,
                                             const OverviewObserver::Done& overview) {
  check();
  const MatrixSize size = layer.size();
  const ScoreSweep scores(known);
  OffsetProfileObserver profile(0, kProfile - 1);
  MarginsSweep margins;
  SweepStop stop([&](const ObservedRows&) { check(); }, check);
  OverviewObserver overviews(size, overview);
  std::vector<Observer*> observers = {&stop, &profile};
  scores.add_to(observers);
  margins.add_to(observers);
  if (has_coarse(size)) observers.push_back(&overviews);
  observe(layer.args(), layer.attended(), observers);
  std::vector<HeadStatistics> heads;
  for (int head = 0; head < layer.q.dim(1); ++head)
    heads.push_back({.scores = scores.scores({first.stack, first.layer, head}),
                     .profile = of_head(profile.mean, head),
                     .margins = margins.margins(head)});
  return heads;
}

}  // namespace heed
