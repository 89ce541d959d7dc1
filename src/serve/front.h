// The layer before httplib: a request reaches httplib after the gate has judged its head and its
// body, if any, has been read. httplib itself reads bodies before any handler can refuse them,
// chunked and compressed ones without a bound, and heads of any size.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "serve/connection.h"
#include "serve/gate.h"
#include "serve/request_head.h"
#include "serve/route.h"
#include "serve/server.h"

namespace heed::serve {

/// Where connections wait for a request. One thread watches all of them, so that a client that is
/// silent or sends its head slowly occupies no worker. When there are many connections, each new
/// one closes the oldest that has not shown the token, so that the user always gets in.
class Lobby {
 public:
  using Guest = std::shared_ptr<Connection>;

  /// `call` receives a connection whose head is complete, too long or too late, and must return
  /// quickly, because it runs on the lobby's thread. Throws kIo if the system provides no thread.
  explicit Lobby(std::function<void(const Guest&)> call);
  ~Lobby();

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

/// The threads that answer requests.
class Workers {
 public:
  /// Throws kIo unless all of them start.
  explicit Workers(int count);
  ~Workers();

  void enqueue(std::function<void()> task);
  /// Returns when all accepted work is done.
  void shutdown();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::function<void()>> tasks_;
  bool is_closed_ = false;
  std::vector<std::thread> threads_;
};

class Front : public httplib::Server {
 public:
  /// Call it before listening. The gate must outlive it. Throws kIo if the system provides no
  /// threads.
  void guard(const Gate& gate, const ServerLimits& limits);
  /// Call it after `stop`: ends every connection, and returns when all work has ended.
  void close();

 private:
  struct Judged {
    RequestHead head;
    std::string body;
  };
  // httplib calls this for each new connection; process_request changes in version 0.19.
  bool process_and_close_socket(socket_t socket) override;
  void work(const Lobby::Guest& guest);
  bool serve_one(Connection& connection);
  // Empty if the client is gone. Throws Refused.
  std::optional<Judged> read_request(Connection& connection) const;
  void refuse_request(Connection& connection, const ApiError& error) const;

  const Gate* gate_ = nullptr;
  ServerLimits limits_;
  std::mutex mutex_;
  std::set<int> at_work_;  // sockets
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Lobby> lobby_;
};

}  // namespace heed::serve
