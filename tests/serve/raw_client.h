// A connection that sends only what it is told to.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <utility>

namespace heed::test {

/// For an answer: a machine may be busy with other things.
inline constexpr std::chrono::seconds kPatience{300};

class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~RawClient() { ::close(socket_); }
  RawClient(RawClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  RawClient& operator=(RawClient&&) = delete;

  void send(const std::string& text) const {
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
  }

  /// As often as the server takes it in; how many bytes those were.
  std::size_t send_until_refused(const std::string& text, std::size_t most) const {
    std::size_t sent = 0;
    while (sent < most) {
      const ssize_t size = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (size < 0) break;
      sent += static_cast<std::size_t>(size);
    }
    return sent;
  }

  /// Receives what has already arrived.
  std::string receive_now() const {
    std::array<char, 4096> part;
    const ssize_t size = ::recv(socket_, part.data(), part.size(), MSG_DONTWAIT);
    return {part.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }

  /// Receives until the server closes the connection.
  std::string receive() const {
    return receive_until([](const std::string&) { return false; });
  }

  /// What comes up to the end of the next head, and what came with it.
  std::string receive_head() const {
    return receive_until(
        [](const std::string& all) { return all.find("\r\n\r\n") != std::string::npos; });
  }

 private:
  template <typename IsEnough>
  std::string receive_until(IsEnough is_enough) const {
    const timeval patience{.tv_sec = kPatience.count(), .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string all;
    std::array<char, 4096> part;
    while (!is_enough(all)) {
      const ssize_t size = ::recv(socket_, part.data(), part.size(), 0);
      if (size <= 0) break;
      all.append(part.data(), static_cast<std::size_t>(size));
    }
    return all;
  }

  int socket_;
};

}  // namespace heed::test
