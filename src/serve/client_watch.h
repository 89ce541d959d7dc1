// Whether the client of a request still waits for its answer, for work that is done before the
// answer begins.
#pragma once

#include <atomic>
#include <thread>

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
class ClientWatch {
 public:
  explicit ClientWatch(const std::atomic<bool>& server_stops);

  /// Once true, nobody waits any more.
  const std::atomic<bool>& is_over() const { return is_over_; }

 private:
  std::atomic<bool> is_over_ = false;
  std::jthread thread_;
};

}  // namespace heed::serve
