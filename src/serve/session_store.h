// The sessions that are kept, and the one thread that works on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "inspect/session/live_session.h"
#include "serve/server.h"

namespace heed::server {

using SessionPointer = std::shared_ptr<LiveSession>;

/// Bounded by number and bytes; the session not used for longest goes first.
class SessionStore {
 public:
  /// `give_way` is called between blocks of the work, and may wait a little for what is urgent.
  SessionStore(const LoadedModel& model, const ServerLimits& limits, Overviews& overviews,
               std::function<void()> give_way);
  ~SessionStore();  // stops the work

  struct Posted {
    SessionPointer session;
    bool fresh = false;
  };
  /// The session of this text: the one that exists, or a new one whose pass begins.
  Posted post(const std::string& text, int layer);
  /// Throws unknown_session.
  SessionPointer find(const std::string& id);
  void drop(const std::string& id);

 private:
  struct Kept {
    SessionPointer session;
    std::int64_t bytes = 0;
  };
  void make_room(std::int64_t bytes);
  void work();
  SessionPointer next_work();

  const LoadedModel& model_;
  const ServerLimits limits_;
  Overviews& overviews_;
  const std::function<void()> give_way_;
  std::mutex guard_;
  std::condition_variable wake_;
  std::list<Kept> kept_;                 // the one used last is first
  std::list<SessionPointer> work_left_;  // the newest is first
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace heed::server
