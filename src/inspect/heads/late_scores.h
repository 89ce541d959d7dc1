// Scores that need passes of the model: computed on request, and kept.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "heed/look.h"
#include "inspect/heads/scores.h"
#include "inspect/session/cancel.h"

namespace heed {

/// 16 sequences of 40 random tokens, each twice; fewer tokens if positions run out.
ProbeOptions usual_probe(const LoadedModel& model);

/// The scores of one session. Several threads may ask; one computes at a time, and cancelled
/// requests leave.
class LateScores {
 public:
  /// Both must outlive it; without a model there are no such scores.
  LateScores(const Session& session, const LoadedModel* model) : session_(session), model_(model) {}

  /// One head's scores, in the order of score_infos(); NaN unless the score is a late one of kind
  /// `from` and exists. Throws kInterrupted when cancelled.
  std::vector<double> values(const Place& place, ScoreFrom from, Cancel& cancel);
  /// All scores of a head computed so far, like `values`.
  std::vector<double> known(const Place& place) const;
  /// The rows whose mean is the score (an index in score_infos()), for scores that have rows.
  LateRows rows(std::size_t score, const Place& place, Cancel& cancel);

  const Session& session() const { return session_; }
  const LoadedModel* model() const { return model_; }

  // Inputs of the scores, read while `values` holds the lock.
  /// The text's loss without a head: the increase when the head outputs 0.
  const LateRows& losses_without(const Place& place);
  /// Direct logit attribution (Elhage et al. 2021): what a head's output at a position adds to the
  /// logit of the actual word, through the following norms, held fixed.
  const LateRows& direct(const Place& place);

 private:
  /// A head's behaviour on repeated random tokens, where only the repetition shows where to look
  /// (Olsson et al. 2022).
  const ProbedHead* probed(const Place& place);
  void keep(const Place& place, const std::vector<double>& values);

  const Session& session_;
  const LoadedModel* model_;
  std::timed_mutex guard_;
  std::optional<Probe> probe_;
  std::optional<std::vector<double>> losses_;  // of the unedited session
  using ByPlace = std::map<std::tuple<Stack, int, int>, LateRows>;
  ByPlace rises_;
  std::optional<ByPlace> direct_;
  mutable std::mutex guard_known_;
  std::map<std::tuple<Stack, int, int>, std::vector<double>> known_;
};

}  // namespace heed
