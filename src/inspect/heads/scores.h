// The registry of scores: what is computed of a head, and under which name.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "heed/inspect/heads.h"
#include "heed/observe.h"
#include "inspect/heads/scored_layer.h"

namespace heed {

/// A score that a head or a row does not have.
inline constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

/// Of the two forms of a score.
enum class ScoreForm : std::uint8_t { kRaw, kSinkAdjusted };

/// Computes one score or several in a sweep over a layer.
class ScoreObserver : public Observer {
 public:
  /// After the sweep: the score number `which` of those that this observer computes.
  virtual double score(std::int64_t head, int which, ScoreForm form) const = 0;
  /// Before a sweep of which one head alone is wanted: keeps what its rows say.
  virtual void keep_rows(std::int64_t head) = 0;
  /// Its value in each row of that head, or in each key; NaN: the row does not count.
  virtual std::vector<float> of_rows(int which, ScoreForm form) const = 0;
  virtual bool is_of_keys() const { return false; }
  /// Whether the score of a row counts the weight of this key; nothing where it is not made so.
  virtual std::optional<bool> counts(int which, std::int64_t row, std::int64_t key) const;
};

class LateScores;
/// By position: what a text loses without a head, in nats, or a head's part of a logit. Empty where
/// the model has no words that it reaches.
using LateRows = std::vector<float>;

using ScoreObserverPointer = std::unique_ptr<ScoreObserver>;

struct Score {
  ScoreInfo info;
  /// Null, or makes null: no sweep over such an attention computes it. Scores with the same one
  /// share a sweep's observer.
  ScoreObserverPointer (*make)(const ScoredLayer& layer) = nullptr;
  int which = 0;
  /// Of a score that takes passes of the model; NaN where there is none. Null: a sweep computes it,
  /// or it is the mean of `rows`.
  double (*late)(LateScores& late, const Place& place) = nullptr;
  /// The same by position; empty where there is none.
  const LateRows& (*rows)(LateScores& late, const Place& place) = nullptr;
  bool is_of_next = false;     // its rows are of the words behind positions, where the model writes
  bool more_is_worse = false;  // its largest rows are those to look at
};

std::span<const Score> all_scores();
/// Whether heads of such an attention may have the score.
bool has_score(const StackShape& shape, const ScoreInfo& info);
/// Its place in score_infos(); kNotFound, with the names that there are, for an unknown one.
std::size_t score_index(std::string_view name);

// Each in the file of its name.
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
double probe_induction_score(LateScores& late, const Place& place);
double probe_duplicate_score(LateScores& late, const Place& place);
const LateRows& ablation_rows(LateScores& late, const Place& place);
const LateRows& direct_rows(LateScores& late, const Place& place);

/// The observers of all scores of a text, for a sweep of whoever calls `observe`.
class ScoreSweep {
 public:
  explicit ScoreSweep(const ScoredLayer& layer = {});
  void add_to(std::vector<Observer*>& observers) const;
  /// As score_infos(); NaN where no observer computes it.
  std::vector<double> values(std::int64_t head, ScoreForm form) const;
  /// The scores of a head; place and sides are its own.
  HeadScores scores(const Place& place) const;

 private:
  std::vector<ScoreObserverPointer> observers_;
  std::vector<ScoreObserver*> of_score_;  // one a score; null: none
};

}  // namespace heed
