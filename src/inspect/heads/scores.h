// The registry of scores: how each score of a head is computed, and its name.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "heed/look.h"
#include "heed/observe.h"
#include "inspect/heads/scored_layer.h"

namespace heed {

/// Marks a score that a head or row does not have.
inline constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

/// Which of a score's two forms.
enum class ScoreForm : std::uint8_t { kRaw, kSinkAdjusted };

/// Computes one or several scores in a sweep over a layer.
class ScoreObserver : public Observer {
 public:
  /// After the sweep: score number `which` of this observer's scores.
  virtual double score(std::int64_t head, int which, ScoreForm form) const = 0;
  /// Before a sweep for a single head: keeps the values of its rows.
  virtual void keep_rows(std::int64_t head) = 0;
  /// The value in each row, or key, of that head; NaN: the row does not count.
  virtual std::vector<float> of_rows(int which, ScoreForm form) const = 0;
  virtual bool is_of_keys() const { return false; }
  /// Whether a row's score counts the weight of this key; empty if scores are not sums of weights.
  virtual std::optional<bool> counts(int which, std::int64_t row, std::int64_t key) const;
};

class LateScores;
/// By position: the loss without a head in nats, or a head's part of a logit. Empty if the model
/// has no vocabulary that the head reaches.
using LateRows = std::vector<float>;

using ScoreObserverPointer = std::unique_ptr<ScoreObserver>;

struct Score {
  ScoreInfo info;
  /// Null, or returns null: no sweep over this attention computes it. Scores with the same function
  /// share a sweep's observer.
  ScoreObserverPointer (*make)(const ScoredLayer& layer) = nullptr;
  int which = 0;
  /// For a score of the probe. Null: computed by a sweep, or the mean of `rows`.
  double ProbedHead::* late = nullptr;
  /// For a score that needs passes of the model, by position; empty if there is none.
  const LateRows& (LateScores::*rows)(const Place& place) = nullptr;
  bool is_of_next = false;     // if the model generates, rows are about the next words
  bool more_is_worse = false;  // its largest rows are the ones to inspect
};

std::span<const Score> all_scores();
/// Whether heads of this attention can have the score.
bool has_score(const StackShape& shape, const ScoreInfo& info);
/// Its index in score_infos(); kNotFound, with the known names, for an unknown one.
std::size_t score_index(std::string_view name);

// Each is in the file of its name.
ScoreObserverPointer neighbour_scores(const ScoredLayer& layer);
ScoreObserverPointer distance_score(const ScoredLayer& layer);
ScoreObserverPointer local_score(const ScoredLayer& layer);
ScoreObserverPointer duplicate_score(const ScoredLayer& layer);
ScoreObserverPointer induction_score(const ScoredLayer& layer);
ScoreObserverPointer delimiter_score(const ScoredLayer& layer);
ScoreObserverPointer same_word_score(const ScoredLayer& layer);
ScoreObserverPointer value_scores(const ScoredLayer& layer);
ScoreObserverPointer coverage_score(const ScoredLayer& layer);
ScoreObserverPointer image_scores(const ScoredLayer& layer);

/// The observers of all scores of a text, for a sweep by the caller of `observe`.
class ScoreSweep {
 public:
  explicit ScoreSweep(const ScoredLayer& layer = {});
  void add_to(std::vector<Observer*>& observers) const;
  /// In the order of score_infos(); NaN if no observer computes it.
  std::vector<double> values(std::int64_t head, ScoreForm form) const;
  /// The scores of a head, with its place and sides.
  HeadScores scores(const Place& place) const;

 private:
  std::vector<ScoreObserverPointer> observers_;
  std::vector<ScoreObserver*> of_score_;  // one per score; null: none
};

}  // namespace heed
