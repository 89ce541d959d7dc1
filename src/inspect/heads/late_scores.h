// Scores that take passes of the model: computed when they are asked for, and kept.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "heed/inspect/heads.h"
#include "inspect/heads/scores.h"
#include "inspect/session/cancel.h"

namespace heed {

/// 16 sequences of 40 random tokens, each twice; fewer tokens where positions end.
ProbeOptions usual_probe(const LoadedModel& model);

/// Of one session. Several threads may ask; one computes at a time, and who is cancelled leaves.
class LateScores {
 public:
  /// Both must outlive it; without a model no such score is there.
  LateScores(const Session& session, const LoadedModel* model) : session_(session), model_(model) {}

  /// As score_infos(), of one head; NaN where it is no late score of kind `from`, or not there.
  /// Throws kInterrupted when cancelled.
  std::vector<double> values(const Place& place, ScoreFrom from, Cancel& cancel);
  /// All that was computed of a head so far, as `values`.
  std::vector<double> known(const Place& place) const;
  /// The rows whose mean is the score, of those (as score_infos()) that have some.
  LateRows rows(std::size_t score, const Place& place, Cancel& cancel);

  const Session& session() const { return session_; }
  const LoadedModel* model() const { return model_; }

  // What the scores read, while `values` holds the lock.
  const ProbedHead* probed(const Place& place);
  const LateRows& losses_without(const Place& place);
  const LateRows& direct(const Place& place);

 private:
  void keep(const Place& place, const std::vector<double>& values);

  const Session& session_;
  const LoadedModel* model_;
  std::timed_mutex guard_;
  std::optional<Probe> probe_;
  std::optional<std::vector<double>> losses_;  // as the session is
  using ByPlace = std::map<std::tuple<Stack, int, int>, LateRows>;
  ByPlace rises_;
  std::optional<ByPlace> direct_;
  mutable std::mutex guard_known_;
  std::map<std::tuple<Stack, int, int>, std::vector<double>> known_;
};

}  // namespace heed
