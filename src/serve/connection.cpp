#include "serve/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>

#include "heed/error.h"
#include "serve/request_head.h"

namespace heed::serve {
namespace {

constexpr auto kIdle = std::chrono::seconds(5);
constexpr auto kWritePatience = std::chrono::seconds(5);  // for a client that accepts no data
constexpr auto kLastPatience = std::chrono::seconds(1);
constexpr std::size_t kMostDiscarded = std::size_t{16} << 20;
constexpr std::size_t kPart = std::size_t{16} << 10;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

bool wait(int socket, short events, Connection::Clock::time_point end) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - Connection::Clock::now()).count();
    pollfd one{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

// 0: nothing has arrived; negative: the client is gone.
ssize_t receive(int socket, std::array<char, kPart>& part, std::size_t most, int flags = 0) {
  for (;;) {
    const ssize_t size =
        ::recv(socket, part.data(), std::min(part.size(), most), MSG_DONTWAIT | flags);
    if (size > 0) return size;
    if (size == 0) return -1;
    if (errno != EINTR) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
  }
}

}  // namespace

Connection::~Connection() {
  ::shutdown(socket_, SHUT_RDWR);
  ::close(socket_);
}

void Connection::expect_request() {
  end_ = Clock::now() + (has_begun() ? patience_ : std::chrono::milliseconds(kIdle));
}

Connection::Head Connection::head() const {
  const std::size_t end = received_.find(kHeadEnd);
  if (std::min(end, received_.size()) > kMostHeadBytes) return Head::kTooLong;
  return end == std::string::npos ? Head::kPartial : Head::kWhole;
}

Connection::Head Connection::receive_head() {
  if (head() != Head::kPartial) return head();
  std::array<char, kPart> part;
  const ssize_t size = receive(socket_, part, part.size());
  if (size < 0) return Head::kGone;
  if (size > 0 && !has_begun()) end_ = Clock::now() + patience_;
  received_.append(part.data(), static_cast<std::size_t>(size));
  return head();
}

std::string Connection::take_head() {
  const std::size_t size = received_.find(kHeadEnd) + kHeadEnd.size();
  std::string head = received_.substr(0, size);
  received_.erase(0, size);
  return head;
}

bool Connection::read_body(std::size_t size, std::string& body) {
  body = received_.substr(0, size);
  received_.erase(0, body.size());
  std::array<char, kPart> part;
  while (body.size() < size) {
    if (!wait(socket_, POLLIN, end_)) return false;
    const ssize_t more = receive(socket_, part, size - body.size());
    if (more < 0) return false;
    body.append(part.data(), static_cast<std::size_t>(more));
  }
  return true;
}

void Connection::end_after_answer() {
  ::shutdown(socket_, SHUT_WR);
  const auto end = Clock::now() + kLastPatience;
  std::array<char, kPart> part;
  for (std::size_t left = kMostDiscarded; left > 0 && wait(socket_, POLLIN, end);) {
    const ssize_t size = receive(socket_, part, left);
    if (size < 0) return;
    left -= static_cast<std::size_t>(size);
  }
}

bool Connection::is_alive() const {
  std::array<char, kPart> part;
  return receive(socket_, part, 1, MSG_PEEK) >= 0;
}

bool Connection::is_writable() const {
  return wait(socket_, POLLOUT, Clock::now() + kWritePatience) && is_alive();
}

void Connection::set_request_line(const std::string& line) {
  to_httplib_ = line + std::string(kHeadEnd);
  read_by_httplib_ = 0;
}

ssize_t Connection::read(char* to, size_t size) {
  const std::size_t taken = to_httplib_.copy(to, size, read_by_httplib_);
  read_by_httplib_ += taken;
  return static_cast<ssize_t>(taken);
}

ssize_t Connection::write(const char* from, size_t size) {
  return is_writable() ? ::send(socket_, from, size, MSG_NOSIGNAL) : -1;
}

// Unused: the gate judges a request by its content, not by its origin.
void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(50);

thread_local const Connection* asking = nullptr;

}  // namespace

AskingScope::AskingScope(const Connection& connection) { asking = &connection; }
AskingScope::~AskingScope() { asking = nullptr; }

ClientWatch::ClientWatch(const std::atomic<bool>& server_stops)
    : thread_([this, &server_stops, client = asking](const std::stop_token& stop) {
        std::mutex guard;
        std::unique_lock lock(guard);
        std::condition_variable_any asked_to_stop;  // so that no answer waits for the next check
        while (!stop.stop_requested() && !is_over_) {
          is_over_ = server_stops || (client != nullptr && !client->is_alive());
          asked_to_stop.wait_for(lock, stop, kBetweenLooks, [] { return false; });
        }
      }) {}

void ClientWatch::check() const {
  if (is_over_) fail({.code = ErrorCode::kInterrupted, .found = "the client is gone"});
}

}  // namespace heed::serve
