#include "serve/session_store.h"

#include <sys/random.h>

#include <algorithm>

namespace heed::server {
namespace {

std::string new_id() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    fail(ErrorCode::kIo, "session: no random bytes for its name");
  return fmt::format("{:016x}", number);
}

// What the session will hold: Q, K, V and both halves of lse, and its statistics.
std::int64_t bytes_of(const ModelInfo& info, std::int64_t length) {
  const std::int64_t vectors = (info.heads + 2 * info.kv_heads) * info.head_dim;
  const std::int64_t numbers = 4 * info.heads;  // lse, lse_low, received, keys in use
  return 4 * info.layers * length * (vectors + numbers);
}

Session cut(const LoadedModel& model, const std::string& text, const ServerLimits& limits) {
  if (std::ssize(text) > limits.text_bytes)
    refuse(413, "too_large", "session: the text has {} bytes, expected at most {}", text.size(),
           limits.text_bytes);
  const std::int64_t invalid = find_invalid_utf8(text);
  if (invalid >= 0)
    refuse(400, "bad_request", "session: byte {} of the text is not UTF-8", invalid);
  Session session = cut_session(model, text);
  const std::int64_t length = std::ssize(session.tokens);
  if (length > session.info.positions)
    refuse(413, "too_large",
           "session: the text has {} tokens but {} has {} positions: expected at most {}", length,
           model.name, session.info.positions, session.info.positions);
  const std::int64_t bytes = bytes_of(session.info, length);
  if (bytes > limits.session_bytes)
    refuse(413, "too_large", "session: it needs {} bytes, all sessions may have {}", bytes,
           limits.session_bytes);
  return session;
}

}  // namespace

SessionStore::SessionStore(const LoadedModel& model, const ServerLimits& limits,
                           Overviews& overviews, std::function<void()> give_way)
    : model_(model),
      limits_(limits),
      overviews_(overviews),
      give_way_(std::move(give_way)),
      thread_([this] { work(); }) {}

SessionStore::~SessionStore() {
  {
    const std::scoped_lock lock(guard_);
    stopping_ = true;
    for (const Kept& kept : kept_) kept.session->dropped = true;
  }
  wake_.notify_all();
  thread_.join();
}

SessionStore::Posted SessionStore::post(const std::string& text, int layer) {
  const auto same = [&](const Kept& kept) {
    const bool failed = kept.session->progress().failed.has_value();
    return kept.session->text == text && !failed;
  };
  {
    const std::scoped_lock lock(guard_);
    const auto found = std::ranges::find_if(kept_, same);
    if (found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      found->session->layer_in_view = layer;
      return {found->session, false};
    }
  }
  Session session = cut(model_, text, limits_);
  const std::int64_t bytes = bytes_of(session.info, std::ssize(session.tokens));
  const auto live = std::make_shared<LiveSession>(new_id(), text, std::move(session));
  live->layer_in_view = layer;
  {
    const std::scoped_lock lock(guard_);
    make_room(bytes);
    kept_.push_front({live, bytes});
    work_left_.push_front(live);
  }
  wake_.notify_all();
  return {live, true};
}

void SessionStore::make_room(std::int64_t bytes) {
  std::int64_t total = bytes;
  for (const Kept& kept : kept_) total += kept.bytes;
  while (!kept_.empty() &&
         (total > limits_.session_bytes || std::ssize(kept_) >= limits_.sessions)) {
    total -= kept_.back().bytes;
    kept_.back().session->dropped = true;
    work_left_.remove(kept_.back().session);
    kept_.pop_back();
  }
}

SessionPointer SessionStore::find(const std::string& id) {
  const std::scoped_lock lock(guard_);
  const auto found =
      std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.session->id == id; });
  if (found == kept_.end())
    refuse(404, "unknown_session", "session {} is unknown or was dropped: post the text again",
           id.substr(0, 32));
  kept_.splice(kept_.begin(), kept_, found);
  return found->session;
}

void SessionStore::drop(const std::string& id) {
  const SessionPointer session = find(id);
  const std::scoped_lock lock(guard_);
  session->dropped = true;
  work_left_.remove(session);
  kept_.remove_if([&](const Kept& kept) { return kept.session == session; });
}

// Passes come before statistics; else the session that was used last.
SessionPointer SessionStore::next_work() {
  for (auto it = work_left_.rbegin(); it != work_left_.rend(); ++it)
    if (!(*it)->pass_ended()) return *it;
  for (const Kept& kept : kept_)
    if (std::ranges::find(work_left_, kept.session) != work_left_.end()) return kept.session;
  return nullptr;
}

void SessionStore::work() {
  std::unique_lock lock(guard_);
  const auto stopped = [this] {
    if (!stopping_.load(std::memory_order_relaxed)) give_way_();
    return stopping_.load(std::memory_order_relaxed);
  };
  while (!stopping_) {
    const SessionPointer session = next_work();
    if (!session) {
      wake_.wait(lock);
      continue;
    }
    lock.unlock();
    const bool more = session->work(model_, stopped, overviews_);
    lock.lock();
    if (!more) work_left_.remove(session);
  }
}

}  // namespace heed::server
