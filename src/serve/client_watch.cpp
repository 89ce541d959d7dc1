#include "serve/client_watch.h"

#include <chrono>

namespace heed::serve {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(50);

thread_local const Connection* asking = nullptr;

}  // namespace

AskingScope::AskingScope(const Connection& connection) { asking = &connection; }
AskingScope::~AskingScope() { asking = nullptr; }

ClientWatch::ClientWatch(const std::atomic<bool>& server_stops)
    : thread_([this, &server_stops, client = asking](const std::stop_token& stop) {
        while (!stop.stop_requested() && !is_over_) {
          is_over_ = server_stops || (client != nullptr && !client->is_alive());
          std::this_thread::sleep_for(kBetweenLooks);
        }
      }) {}

}  // namespace heed::serve
