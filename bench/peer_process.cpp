#include "bench/peer_process.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "heed/error.h"

namespace heed {

PeerProcess::PeerProcess(const std::string& python) : python_(python) {
  std::array<int, 2> ends = {};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail({.code = ErrorCode::kIo, .argument = "--peers", .found = std::strerror(errno)});
  channel_ = ends[0];
  std::string words[] = {python, "-c", kPeersScript};
  char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int error = posix_spawnp(&process_, python.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) return;
  close(channel_);
  fail({.code = ErrorCode::kNotFound,
        .argument = "--peers",
        .found = fmt::format("'{}': {}", python, std::strerror(error)),
        .expected = "a Python that has torch"});
}

PeerProcess::~PeerProcess() {
  close(channel_);  // the script ends with its input
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Json PeerProcess::ask(const Json& question) {
  const std::string line = question.dump() + "\n";
  bool is_there = send(channel_, line.data(), line.size(), MSG_NOSIGNAL) == std::ssize(line);
  std::array<char, 4096> some = {};
  while (is_there && unread_.find('\n') == std::string::npos) {
    const ssize_t count = read(channel_, some.data(), some.size());
    if (count < 0 && errno == EINTR) continue;
    is_there = count > 0;
    if (is_there) unread_.append(some.data(), static_cast<std::size_t>(count));
  }
  if (!is_there)
    fail({.argument = "--peers",
          .found = fmt::format("'{}', which ended; its reason is above", python_),
          .expected = "a Python that has torch"});
  const std::size_t end = unread_.find('\n');
  const JsonText answer = JsonText::parse(unread_.substr(0, end), {.file = python_});
  unread_.erase(0, end + 1);
  return answer.root();
}

std::vector<PeerProcess::Peer> PeerProcess::prepare(const Json& problem) {
  std::vector<Peer> peers;
  const Json answer = ask(problem);
  for (const auto& [name, bytes] : answer["peers"].members())
    peers.push_back({name, bytes.as_integer().value_or(-1)});
  return peers;
}

std::vector<double> PeerProcess::time(const std::string& peer, double seconds) {
  std::vector<double> times;
  const Json answer = ask({{"time", peer}, {"seconds", seconds}});
  for (const Json& time : answer["times"].items()) times.push_back(time.as_number().value_or(0));
  return times;
}

}  // namespace heed
