#include "serve/client_watch.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "heed/error.h"

namespace heed::serve {
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
        std::condition_variable_any asked_to_stop;  // so that no answer waits for the next look
        while (!stop.stop_requested() && !is_over_) {
          is_over_ = server_stops || (client != nullptr && !client->is_alive());
          asked_to_stop.wait_for(lock, stop, kBetweenLooks, [] { return false; });
        }
      }) {}

void ClientWatch::check() const {
  if (is_over_) fail({.code = ErrorCode::kInterrupted, .found = "the client is gone"});
}

}  // namespace heed::serve
