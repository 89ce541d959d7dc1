// A session that grows: first tokens, then Q, K, V and lse when the pass ends, then statistics.
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

#include "heed/look.h"
#include "inspect/answers/view.h"
#include "inspect/evidence/model_streams.h"
#include "inspect/heads/late_scores.h"
#include "inspect/heads/statistics.h"
#include "inspect/map/maps.h"
#include "inspect/session/cancel.h"
#include "inspect/session/carried.h"
#include "inspect/session/session_input.h"

namespace heed {

using LayerHeads = std::shared_ptr<const std::vector<HeadStatistics>>;

/// Written by one worker thread, read by many threads.
class LiveSession {
 public:
  /// A session that `model`, which must outlive it, will run; or a finished one, opened from arrays
  /// or run with its streams by `ran_by`, which must outlive it.
  LiveSession(std::string id, SessionInput input, Session session, const LoadedModel& model);
  LiveSession(std::string id, SessionInput input, Session session,
              const LoadedModel* ran_by = nullptr);

  const std::string id;
  const SessionInput input;
  Views views;
  std::atomic<std::size_t> in_view = 0;  // the layer whose statistics are computed first
  std::atomic<bool> dropped = false;     // its result is no longer wanted

  std::optional<std::int64_t> memory = {};  // SessionOptions::memory of its pass
  std::string derived_from = {};            // the session that this one's edits were made to

  /// The model for its passes; throws kUnsupported if it has none.
  const LoadedModel& require_model() const;
  /// Null if opened from arrays.
  const LoadedModel* model() const { return model_; }
  /// The writes from a second pass: these rows, or all of them, which are cached if small.
  std::shared_ptr<const Writes> writes(const StreamRows& rows) const;

  /// Tokens, stacks and model: known before the pass.
  const Session& session() const { return session_; }
  const std::vector<StackShape>& shapes() const { return shapes_; }
  MatrixSize size(Stack stack) const { return session_.size(stack); }
  /// Layers of all stacks, one after the other: how many are kept, and which one this is.
  std::size_t layer_count() const { return kept_layers_; }
  const Place& place_of(std::size_t index) const { return places_.at(index); }
  std::size_t index_of(Stack stack, int layer) const;
  bool keeps(const Place& place) const;

  /// The progress of the work; each step is a new version.
  struct Progress {
    std::int64_t version = 0;
    bool ready = false;
    std::exception_ptr failed = {};
    std::vector<LayerHeads> layers = {};  // by index; null where still to come
    std::vector<std::size_t> order = {};  // the layers that are there, as they came
    bool scored = false;                  // all that are kept are there
  };
  Progress progress() const;
  /// Waits until the version differs from `seen`, at most `time`.
  Progress wait(std::int64_t seen, std::chrono::milliseconds time) const;
  bool pass_ended() const;

  /// The place's layer, which keeps the session alive; the pass must have ended.
  const LayerAttention& layer(const Place& place) const;
  /// The same, or with carried amounts as weights, which are computed and cached while in use.
  /// Keeps only itself alive.
  std::shared_ptr<const LayerAttention> layer_as(Quantity quantity, const Place& place,
                                                 Cancel& cancel) const;
  /// The statistics of its heads; null if still to come.
  LayerHeads heads(Stack stack, int layer) const;
  /// Every head's scores; all layers must have been scored.
  std::vector<HeadScores> scores() const;
  /// Scores that need passes of the model; the pass must have ended.
  LateScores& late() { return late_; }
  const LateScores& late() const { return late_; }
  /// The head to show first in a stack, or for the row, key or edge of a view; all layers must have
  /// been scored.
  ChosenHead chosen(Stack stack, const ViewAddress& view = {}) const;
  /// The cache key of a head.
  std::string head_name(const Place& place) const;
  /// The words after a position; kNotFound if they were not kept.
  const NextWords& next(std::int64_t position) const;
  bool keeps_next(std::int64_t position) const;

  /// Does the next piece of work: the pass, or one layer's statistics; false when everything is
  /// done.
  bool work(const std::function<bool()>& stop, Overviews& overviews);

 private:
  struct Unready {};
  LiveSession(Unready, std::string id, SessionInput input, Session session,
              const LoadedModel* model);
  void run_pass(const std::function<bool()>& stop);
  void keep_next();
  void score_layer(std::size_t index, const std::function<bool()>& stop, Overviews& overviews);
  std::optional<std::size_t> next_layer() const;
  void change(auto change);

  Session session_;
  const LoadedModel* model_;  // null: the session is of arrays
  LateScores late_;
  std::vector<StackShape> shapes_;
  std::vector<Place> places_;  // of the layers, by index
  std::size_t kept_layers_ = 0;
  mutable std::mutex writing_;  // of writes_
  mutable std::shared_ptr<const Writes> writes_;
  mutable std::timed_mutex weighing_;  // guards carried_
  mutable RecentCache<LayerAttention> carried_;
  std::vector<NextWords> next_;  // for every position, or only the last
  mutable std::mutex guard_;     // guards progress_
  mutable std::condition_variable changed_;
  Progress progress_;
};

using SessionPointer = std::shared_ptr<LiveSession>;

/// What a session of a text will hold, in bytes (kept_bytes, with the residual stream).
std::int64_t session_bytes(const Session& session);

}  // namespace heed
