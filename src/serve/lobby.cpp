#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include "heed/error.h"
#include "serve/front.h"

namespace heed::serve {
namespace {

// How many connections may wait: leaves descriptors for active requests and model files.
std::size_t most_waiting() {
  constexpr rlim_t kMost = 1000, kForWork = 64;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur > kForWork ? std::min(kMost, limit.rlim_cur - kForWork) : 1;
}

}  // namespace

Lobby::Lobby(std::function<void(const Guest&)> call)
    : call_(std::move(call)), bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (bell_ < 0)
    fail({.code = ErrorCode::kIo,
          .op = "serve",
          .found = fmt::format("no eventfd: {}", std::strerror(errno))});
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error& error) {
    ::close(bell_);
    fail({.code = ErrorCode::kIo,
          .op = "serve",
          .found = fmt::format("cannot start a thread: {}", error.code().message())});
  }
}

Lobby::~Lobby() {
  close();
  ::close(bell_);
}

void Lobby::ring() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t size = ::write(bell_, &one, sizeof one);  // full: it already rang
}

void Lobby::enter(Guest guest) {
  {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) return;
    new_.push_back(std::move(guest));
  }
  ring();
}

void Lobby::close() {
  {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
  }
  ring();
  if (thread_.joinable()) thread_.join();
  new_.clear();
  waiting_.clear();
}

void Lobby::watch() {
  for (;;) {
    take_in_new();
    {
      const std::scoped_lock lock(mutex_);
      if (is_closed_) return;
    }
    wait_for_news();
  }
}

// Data received with the previous request may already contain a whole head.
void Lobby::take_in_new() {
  std::vector<Guest> fresh;
  {
    const std::scoped_lock lock(mutex_);
    fresh.swap(new_);
  }
  for (const Guest& guest : fresh) {
    if (!stays(guest)) continue;
    if (waiting_.size() >= most_waiting()) make_room();
    waiting_.push_back(guest);
  }
}

// Closes the oldest connection without a token, else the oldest connection.
void Lobby::make_room() {
  const auto stranger =
      std::ranges::find_if(waiting_, [](const Guest& guest) { return !guest->is_known(); });
  waiting_.erase(stranger == waiting_.end() ? waiting_.begin() : stranger);
}

void Lobby::wait_for_news() {
  std::vector<pollfd> watched = {{.fd = bell_, .events = POLLIN, .revents = 0}};
  auto end = Connection::Clock::now() + std::chrono::hours(1);
  for (const Guest& guest : waiting_) {
    watched.push_back({.fd = guest->descriptor(), .events = POLLIN, .revents = 0});
    end = std::min(end, guest->end_of_patience());
  }
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(end - Connection::Clock::now()).count();
  ::poll(watched.data(), watched.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
  std::uint64_t rings = 0;
  [[maybe_unused]] const ssize_t size = ::read(bell_, &rings, sizeof rings);
  const auto now = Connection::Clock::now();
  std::size_t index = 0;
  std::erase_if(waiting_, [&](const Guest& guest) {
    const bool is_quiet = watched[++index].revents == 0 && now < guest->end_of_patience();
    return !is_quiet && !stays(guest);
  });
}

bool Lobby::stays(const Guest& guest) {
  const Connection::Head head = guest->receive_head();
  if (head == Connection::Head::kGone) return false;
  const bool is_partial = head == Connection::Head::kPartial;
  if (is_partial && Connection::Clock::now() < guest->end_of_patience()) return true;
  if (!is_partial || guest->has_begun()) call_(guest);  // a partial one gets a 408
  return false;
}

}  // namespace heed::serve
