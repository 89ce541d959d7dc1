// Scores that take passes of the model: computed when they are asked for, and kept.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "heed/inspect/head_probe.h"
#include "heed/inspect/head_scores.h"
#include "inspect/session/cancel.h"

namespace heed {

/// 16 sequences of 40 random tokens, each twice; fewer tokens where positions end.
ProbeOptions usual_probe(const LoadedModel& model);

/// By position, nats: what a text loses without a head. Empty where the model has no words.
using LossRises = std::vector<float>;

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
  /// Each position's rise of the loss without the head; entry t is of the token that is predicted
  /// there.
  std::shared_ptr<const LossRises> rises(const Place& place, Cancel& cancel);

  const Session& session() const { return session_; }
  const LoadedModel* model() const { return model_; }

  // What the scores read, while `values` holds the lock.
  const ProbedHead* probed(const Place& place);
  const LossRises& losses_without(const Place& place);

 private:
  std::unique_lock<std::timed_mutex> enter(Cancel& cancel);
  void keep(const Place& place, const std::vector<double>& values);

  const Session& session_;
  const LoadedModel* model_;
  std::timed_mutex guard_;
  std::optional<Probe> probe_;
  std::optional<std::vector<double>> losses_;  // as the session is
  std::map<std::tuple<Stack, int, int>, std::shared_ptr<const LossRises>> rises_;
  mutable std::mutex guard_known_;
  std::map<std::tuple<Stack, int, int>, std::vector<double>> known_;
};

}  // namespace heed
