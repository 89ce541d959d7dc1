// The registry of scores: what is computed of a head, and under which name.
#pragma once

#include <memory>
#include <vector>

#include "heed/inspect/head_scores.h"
#include "heed/ops/observe.h"

namespace heed {

/// Computes one score or several in a sweep over a layer.
class ScoreObserver : public Observer {
 public:
  /// After the sweep: the score number `which` of those that this observer computes.
  virtual double score(std::int64_t head, int which) const = 0;
};

struct Score {
  ScoreInfo info;
  std::unique_ptr<ScoreObserver> (*make)();  // scores with the same one share a sweep's observer
  int which = 0;
};

// Each in the file of its name.
std::unique_ptr<ScoreObserver> neighbour_scores();
std::unique_ptr<ScoreObserver> distance_score();

/// The observers of all scores, for a sweep of whoever calls `observe`.
class ScoreSweep {
 public:
  ScoreSweep();
  void add_to(std::vector<Observer*>& observers) const;
  std::vector<double> values(std::int64_t head) const;

 private:
  std::vector<std::unique_ptr<ScoreObserver>> observers_;
  std::vector<ScoreObserver*> of_score_;  // one a score
};

}  // namespace heed
