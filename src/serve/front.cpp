#include "serve/front.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "base/wording.h"
#include "heed/error.h"

namespace heed::serve {
namespace {

// A new connection goes directly to the lobby, which needs no worker.
struct AtOnce : httplib::TaskQueue {
  // void; from httplib 0.14 on, whether the task was accepted.
  using Taken = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));
  Taken enqueue(std::function<void()> task) override {
    task();
    return static_cast<Taken>(true);
  }
  void shutdown() override {}
};

}  // namespace

Workers::Workers(int count) {
  try {
    while (std::ssize(threads_) < count) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    shutdown();
    fail({.code = ErrorCode::kIo,
          .op = "serve",
          .found = fmt::format("cannot start {}: {}", number_of(count, "thread"),
                               error.code().message())});
  }
}

Workers::~Workers() { shutdown(); }

void Workers::enqueue(std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  news_.notify_one();
}

void Workers::shutdown() {
  {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
  }
  news_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Workers::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return is_closed_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }
}

void Front::guard(const Gate& gate, const ServerLimits& limits) {
  gate_ = &gate;
  limits_ = limits;
  workers_ = std::make_unique<Workers>(limits.workers);
  lobby_ = std::make_unique<Lobby>(
      [this](const Lobby::Guest& guest) { workers_->enqueue([this, guest] { work(guest); }); });
  new_task_queue = [] { return std::make_unique<AtOnce>().release(); };  // httplib deletes it
}

void Front::close() {
  if (!lobby_) return;
  lobby_->close();
  {
    const std::scoped_lock lock(mutex_);
    for (const int socket : at_work_) ::shutdown(socket, SHUT_RDWR);
  }
  workers_->shutdown();
}

bool Front::process_and_close_socket(socket_t socket) {
  lobby_->enter(std::make_shared<Connection>(socket, limits_.request_time));
  return true;
}

void Front::work(const Lobby::Guest& guest) {
  {
    const std::scoped_lock lock(mutex_);
    at_work_.insert(guest->descriptor());
  }
  const bool again = svr_sock_ != INVALID_SOCKET && serve_one(*guest);
  {
    const std::scoped_lock lock(mutex_);
    at_work_.erase(guest->descriptor());
  }
  if (!again) return;
  guest->expect_request();
  lobby_->enter(guest);
}

// Returns whether another request may follow.
bool Front::serve_one(Connection& connection) {
  std::optional<Judged> judged;
  try {
    judged = read_request(connection);
  } catch (...) {
    refuse_request(connection, api_error(std::current_exception()));
    return false;
  }
  if (!judged) return false;
  const bool keep = judged->head.keep_alive;
  connection.set_request_line(judged->head.line);
  bool is_closed = false;
  const auto complete = [&](httplib::Request& request) {
    request.headers = std::move(judged->head.headers);
    request.headers.erase("Expect");  // already answered
    request.body = std::move(judged->body);
  };
  const AskingScope scope(connection);
  return process_request(connection, !keep, is_closed, complete) && keep;
}

std::optional<Front::Judged> Front::read_request(Connection& connection) const {
  using Head = Connection::Head;
  const auto late = [&] {
    refuse(408, "too_slow",
           {.found = fmt::format("the request took longer than {} seconds to come",
                                 std::chrono::duration<double>(limits_.request_time).count())});
  };
  const Head state = connection.receive_head();
  if (state == Head::kPartial) late();
  if (state == Head::kGone) return {};
  if (state == Head::kTooLong)
    refuse(431, "too_large",
           {.argument = "the head",
            .found = "too long",
            .expected = fmt::format("at most {} bytes", kMostHeadBytes)});
  Judged judged{.head = parse_head(connection.take_head()), .body = {}};
  const httplib::Headers& headers = judged.head.headers;
  gate_->check_origin(headers);
  if (gate_->is_known(headers)) connection.set_known();
  if (!announces_body(headers)) return judged;
  gate_->check_api(headers);
  const std::size_t length = body_length(headers, static_cast<std::size_t>(limits_.body_bytes));
  if (only_value(headers, "Expect") == "100-continue")
    connection.write("HTTP/1.1 100 Continue\r\n\r\n");
  if (!connection.read_body(length, judged.body)) late();
  return judged;
}

// The rest of the request is not read, so the connection ends.
void Front::refuse_request(Connection& connection, const ApiError& error) const {
  const std::string json = error_json(error);
  std::string answer = fmt::format("HTTP/1.1 {} Refused\r\n", error.status);
  for (const auto& [name, value] : hardening_headers())
    answer += fmt::format("{}: {}\r\n", name, value);
  answer += fmt::format(
      "Cache-Control: no-store\r\nConnection: close\r\nContent-Length: {}\r\n"
      "Content-Type: application/json; charset=utf-8\r\n\r\n{}",
      json.size(), json);
  connection.write(answer);
  connection.end_after_answer();
}

}  // namespace heed::serve
