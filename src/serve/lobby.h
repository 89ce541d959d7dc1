// Where connections wait for a request. One thread watches all of them, so that a client that is
// silent or sends its head slowly occupies no worker. When there are many connections, each new one
// closes the oldest that has not shown the token, so that the user always gets in.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "serve/connection.h"

namespace heed::serve {

class Lobby {
 public:
  using Guest = std::shared_ptr<Connection>;

  /// `call` receives a connection whose head is complete, too long or too late, and must return
  /// quickly, because it runs on the lobby's thread. Throws kIo if the system provides no thread.
  explicit Lobby(std::function<void(const Guest&)> call);
  ~Lobby();
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

  void enter(Guest guest);
  /// Closes all waiting connections; later ones are closed at once.
  void close();

 private:
  void watch();
  void wait_for_news();
  bool stays(const Guest& guest);
  void take_in_new();
  void make_room();
  void ring() const;

  const std::function<void(const Guest&)> call_;
  const int bell_;  // wakes the thread
  std::mutex mutex_;
  bool is_closed_ = false;
  std::vector<Guest> new_;
  std::vector<Guest> waiting_;  // used by the thread only
  std::thread thread_;
};

}  // namespace heed::serve
