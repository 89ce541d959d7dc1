// A session that grows: tokens first, then Q, K, V and lse when the pass ends, then statistics.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "heed/inspect/look.h"
#include "inspect/evidence/model_streams.h"
#include "inspect/heads/late_scores.h"
#include "inspect/heads/statistics.h"
#include "inspect/map/maps.h"
#include "inspect/session/cancel.h"
#include "inspect/session/carried.h"
#include "inspect/session/session_input.h"

namespace heed {

using LayerHeads = std::shared_ptr<const std::vector<HeadStatistics>>;

/// Written by one thread that works on it, read by many.
class LiveSession {
 public:
  /// A session that `model`, which must outlive it, has yet to run; or one that is whole already:
  /// it was opened from arrays, or `ran_by`, which must outlive it, has run it with its streams.
  LiveSession(std::string id, SessionInput input, Session session, const LoadedModel& model);
  LiveSession(std::string id, SessionInput input, Session session,
              const LoadedModel* ran_by = nullptr);

  const std::string id;
  const SessionInput input;
  Views views;
  std::atomic<std::size_t> in_view = 0;  // the layer whose statistics come first
  std::atomic<bool> dropped = false;     // nobody wants its work any more

  std::optional<std::int64_t> memory = {};  // SessionOptions::memory of its pass
  std::string derived_from = {};            // the session that this one's edits were made to

  /// What runs its passes; throws kUnsupported for a session that has none.
  const LoadedModel& require_model() const;
  /// Null where it is of arrays.
  const LoadedModel* model() const { return model_; }
  /// What a second pass wrote: these rows, or all of them, which are kept where they are small.
  std::shared_ptr<const Writes> writes(const StreamRows& rows) const;

  /// Tokens, stacks and model: what is known before the pass.
  const Session& session() const { return session_; }
  const std::vector<StackShape>& shapes() const { return shapes_; }
  MatrixSize size(Stack stack) const { return session_.size(stack); }
  /// Layers of all stacks, one after the other: how many are kept, and which one this is.
  std::size_t layer_count() const { return kept_layers_; }
  const Place& place_of(std::size_t index) const { return places_.at(index); }
  std::size_t index_of(Stack stack, int layer) const;

  /// Where the work stands; each step is a new version.
  struct Progress {
    std::int64_t version = 0;
    bool ready = false;
    std::exception_ptr failed = {};
    std::vector<LayerHeads> layers = {};  // by index; null where still to come
    std::vector<std::size_t> order = {};  // the layers that are there, as they came
    bool scored = false;                  // all that are kept are there
  };
  Progress progress() const;
  /// Waits for another version than `seen`, at most `time`.
  Progress wait(std::int64_t seen, std::chrono::milliseconds time) const;
  bool pass_ended() const;

  /// The place's layer, which keeps the session alive; the pass must have ended.
  const LayerAttention& layer(const Place& place) const;
  /// The same; or as what its weights carry, which is computed, and kept while it is asked for.
  /// Keeps nothing alive but itself.
  std::shared_ptr<const LayerAttention> layer_as(Quantity quantity, const Place& place,
                                                 Cancel& cancel) const;
  /// Its heads' statistics; null where they are still to come.
  LayerHeads heads(Stack stack, int layer) const;
  /// Every head's scores; all layers must have been scored.
  std::vector<HeadScores> scores() const;
  /// Scores that take passes of the model; the pass must have ended.
  LateScores& late() { return late_; }
  const LateScores& late() const { return late_; }
  /// The head to begin with in a stack; all layers must have been scored.
  ChosenHead chosen(Stack stack) const;
  /// Names what is kept of a head elsewhere.
  std::string head_name(const Place& place) const;
  /// The words after a position; kNotFound where they were not kept.
  const NextWords& next(std::int64_t position) const;
  bool keeps_next(std::int64_t position) const;

  /// The next piece of work: the pass, or one layer's statistics; false when all is done.
  bool work(const std::function<bool()>& stop, Overviews& overviews);

 private:
  struct Unready {};
  LiveSession(Unready, std::string id, SessionInput input, Session session,
              const LoadedModel* model);
  void run_pass(const std::function<bool()>& stop);
  void keep_next();
  void score_layer(std::size_t index, const std::function<bool()>& stop, Overviews& overviews);
  std::optional<std::size_t> next_layer() const;
  template <typename Change>
  void change(Change change);

  Session session_;
  const LoadedModel* model_;  // null: the session is of arrays
  LateScores late_;
  std::vector<StackShape> shapes_;
  std::vector<Place> places_;  // of the layers, by index
  std::size_t kept_layers_ = 0;
  mutable std::mutex writing_;  // of writes_
  mutable std::shared_ptr<const Writes> writes_;
  mutable std::timed_mutex weighing_;  // of carried_
  mutable RecentCache<LayerAttention> carried_;
  std::vector<NextWords> next_;  // of every position, or of the last alone
  mutable std::mutex guard_;     // of progress_
  mutable std::condition_variable changed_;
  Progress progress_;
};

using SessionPointer = std::shared_ptr<LiveSession>;

/// What a session of a text will hold, in bytes (kept_bytes, with the residual stream).
std::int64_t session_bytes(const Session& session);

}  // namespace heed
