// One client's connection: reads only as much as it is told to, waits only as long as allowed, and
// knows whether its client still waits for an answer.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "base/stop.h"

namespace heed::serve {

class Connection : public httplib::Stream {
 public:
  using Clock = std::chrono::steady_clock;

  /// Owns the socket and closes it at the end. `patience`: for one request, head and body.
  Connection(int socket, std::chrono::milliseconds patience)
      : socket_(socket), patience_(patience) {
    expect_request();
  }
  ~Connection() override;
  Connection& operator=(Connection&&) = delete;

  enum class Head { kPartial, kWhole, kTooLong, kGone };
  /// Another request may follow: waits briefly for its first byte, from which the patience counts.
  void expect_request();
  /// Reads the data that have arrived, without waiting.
  Head receive_head();
  /// Whether a request has begun.
  bool has_begun() const { return !received_.empty(); }
  Clock::time_point end_of_patience() const { return end_; }
  int descriptor() const { return socket_; }
  /// A request has presented the token or the cookie.
  void set_known() { is_known_ = true; }
  bool is_known() const { return is_known_; }
  /// The whole head, including the empty line at its end.
  std::string take_head();
  /// False if the client is gone or too slow.
  bool read_body(std::size_t size, std::string& body);

  /// Sets what httplib reads instead of the client's data: nothing else reaches it.
  void set_request_line(const std::string& line);
  /// Announces that no answer follows, and discards further data from the client for a moment:
  /// closing at once would make the system drop the unread answer.
  void end_after_answer();

  /// False if the client has closed the connection, or its half of it.
  bool is_alive() const;

  // The interface that httplib requires of a connection.
  bool is_readable() const override { return true; }
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  // Called only for the limits of select, which this class does not use.
  socket_t socket() const override { return INVALID_SOCKET; }
  using httplib::Stream::write;

 private:
  Head head() const;  // of the data received so far

  const int socket_;
  const std::chrono::milliseconds patience_;
  Clock::time_point end_;  // of the patience
  bool is_known_ = false;
  std::string received_;  // the head, or data after it
  std::string to_httplib_;
  std::size_t read_by_httplib_ = 0;
};

/// While it lives, its thread answers this connection's request.
class AskingScope {
 public:
  explicit AskingScope(const Connection& connection);
  ~AskingScope();
  AskingScope& operator=(AskingScope&&) = delete;
};

/// Watches the connection of this thread's request, if any, and whether the server stops. While it
/// lives, parallel loops of this thread end early once the client is gone.
class ClientWatch {
 public:
  explicit ClientWatch(const std::atomic<bool>& server_stops);

  /// True once the answer is no longer wanted.
  const std::atomic<bool>& is_over() const { return is_over_; }
  /// Throws kInterrupted once it is over.
  void check() const;

 private:
  std::atomic<bool> is_over_ = false;
  StopScope scope_{is_over_};
  std::jthread thread_;
};

}  // namespace heed::serve
