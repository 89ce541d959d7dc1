// One client's connection: it reads no more than it is told to, and waits no longer than it may.
// Whether its client still waits for an answer.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "base/stop.h"

namespace heed::serve {

class Connection : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;

  /// Takes the socket, and closes it at the end. `patience`: with one request, head and body.
  Connection(int socket, std::chrono::milliseconds patience)
      : socket_(socket), patience_(patience) {
    expect_request();
  }
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  enum class Head { kPartial, kWhole, kTooLong, kGone };
  /// Another request may come: within a moment its first byte, from which on the patience counts.
  void expect_request();
  /// Takes in what has come, without waiting.
  Head receive_head();
  /// Whether a request has begun.
  bool has_begun() const { return !received_.empty(); }
  Clock::time_point end_of_patience() const { return end_; }
  int descriptor() const { return socket_; }
  /// A request has shown the token or the cookie.
  void set_known() { is_known_ = true; }
  bool is_known() const { return is_known_; }
  /// The whole head, which ends with the empty line.
  std::string take_head();
  /// False when the client is gone or too slow.
  bool read_body(std::size_t size, std::string& body);

  /// What httplib reads in place of the client: nothing else reaches it.
  void set_request_line(const std::string& line);
  /// Says that no answer follows, and discards what the client still sends, for a moment: closed at
  /// once, the system would take back the answer that the client has not read yet.
  void end_after_answer();

  /// False when the client has closed it, or its half of it.
  bool is_alive() const;

  // What httplib asks of a connection.
  bool is_readable() const override { return true; }
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  // Asked for the limits of select alone, which this class does not use.
  socket_t socket() const override { return INVALID_SOCKET; }
  using httplib::Stream::write;

 private:
  Head head() const;  // of what has come so far

  const int socket_;
  const std::chrono::milliseconds patience_;
  Clock::time_point end_;  // of the patience
  bool is_known_ = false;
  std::string received_;  // of the head, or what came behind it
  std::string to_httplib_;
  std::size_t read_by_httplib_ = 0;
};

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
