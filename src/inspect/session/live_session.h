// A session that grows: tokens first, then Q, K, V and lse when the pass ends, then statistics.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "heed/inspect/look.h"
#include "inspect/heads/statistics.h"
#include "inspect/map/recent_cache.h"
#include "inspect/session/api_error.h"
#include "inspect/session/cancel.h"

namespace heed::server {

using Overviews = RecentCache<Overview>;
using LayerHeads = std::shared_ptr<const std::vector<HeadStatistics>>;

/// Written by the background thread, read by requests.
class LiveSession {
 public:
  LiveSession(std::string id, std::string text, Session session);

  const std::string id;
  const std::string text;
  Views views;
  std::atomic<int> layer_in_view = 0;  // its statistics come first
  std::atomic<bool> dropped = false;   // nobody wants its work any more

  const std::vector<SessionToken>& tokens() const { return session_.tokens; }
  std::int64_t length() const { return static_cast<std::int64_t>(session_.tokens.size()); }
  const ModelInfo& info() const { return session_.info; }
  const Tokenizer* tokenizer() const { return session_.tokenizer; }

  /// Where the work stands; each step is a new version.
  struct Progress {
    std::int64_t version = 0;
    bool ready = false;
    std::optional<ApiError> failed = {};
    std::vector<LayerHeads> layers = {};  // null where still to come
    std::vector<int> order = {};          // the layers that are there, as they came
    std::optional<ChosenHead> chosen = {};
  };
  Progress progress() const;
  /// Waits for another version than `seen`, at most `time`.
  Progress wait(std::int64_t seen, std::chrono::milliseconds time) const;

  /// The layer's attention; throws `not_ready`, what the pass died of, or not_found.
  const LayerAttention& layer(int index) const;
  /// Names what is kept of a head elsewhere.
  std::string head_name(int layer, std::int64_t head) const;
  /// Of the pass, which must have ended. `position` is one whose words were kept.
  const NextWords& next(std::int64_t position) const;
  bool keeps_next(std::int64_t position) const;

  /// The next piece of work: the pass, or one layer's statistics; false when all is done.
  bool work(const LoadedModel& model, const std::function<bool()>& stop, Overviews& overviews);
  bool pass_ended() const;

 private:
  void run_pass(const LoadedModel& model, const std::function<bool()>& stop);
  void score_layer(int index, const std::function<bool()>& stop, Overviews& overviews);
  int next_layer() const;
  void require_ready() const;
  template <typename Change>
  void change(Change change);

  Session session_;
  std::vector<NextWords> next_;  // of every position, or of the last alone
  mutable std::mutex guard_;     // of progress_
  mutable std::condition_variable changed_;
  Progress progress_;
};

}  // namespace heed::server
