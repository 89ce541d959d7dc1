// Whether the client of a request still waits for its answer, for work that is done before the
// answer begins.
#pragma once

#include <atomic>
#include <thread>

#include "base/stop.h"
#include "serve/connection.h"

namespace heed::serve {

/// While one lives, its thread answers the request of this connection.
class AskingScope {
 public:
  explicit AskingScope(const Connection& connection);
  ~AskingScope();
  AskingScope(const AskingScope&) = delete;
  AskingScope& operator=(const AskingScope&) = delete;
};

/// Watches the connection of this thread's request, if it has one, and whether the server stops.
/// While one lives, parallel loops of this thread end early once the client is gone.
class ClientWatch {
 public:
  explicit ClientWatch(const std::atomic<bool>& server_stops);

  /// Once true, nobody waits any more.
  const std::atomic<bool>& is_over() const { return is_over_; }
  /// Throws kInterrupted once it is over.
  void check() const;

 private:
  std::atomic<bool> is_over_ = false;
  StopScope scope_{is_over_};
  std::jthread thread_;
};

}  // namespace heed::serve
