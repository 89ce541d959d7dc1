// The stored sessions, and the one thread that works on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "inspect/answers/live_session.h"
#include "inspect/session/session_input.h"
#include "serve/model_shelf.h"
#include "serve/server.h"

namespace heed::serve {

/// A client's request to open a session.
struct PostedInput {
  std::string model = {};  // the model's name; empty: the served one
  SessionInput input = {};
  std::vector<ChatMessage> chat = {};      // if not empty, the input's text is its last message
  std::string stack = {};                  // in view; empty: the model's first
  std::optional<std::int64_t> layer = {};  // in view
  Keep keep = Keep::kAll;
  std::function<Edits(const Session&)> edits = {};  // for the tokenized text; null: no edits
  std::string replaces = {};                        // a session that the client no longer shows
};

/// A stack of the model by name; the first if the name is empty (not_found).
const StackShape& stack_named(std::string_view model, std::span<const StackShape> stacks,
                              const std::string& name);

/// Limited in number and bytes; the least recently used session is dropped first.
class SessionStore {
 public:
  /// `models` must outlive it. Without a served model there is only the session in the options.
  /// `server_stops` is checked while a session is opened; `give_way` is called between blocks of
  /// work, and may wait a little for urgent work.
  SessionStore(ModelShelf& models, const ServerOptions& options, Overviews& overviews,
               const std::atomic<bool>& server_stops, std::function<void()> give_way);
  ~SessionStore();  // stops the work

  struct Posted {
    SessionPointer session;
    bool fresh = false;
  };
  /// The session for this input: an existing one, or a new one whose pass begins.
  Posted post(const PostedInput& posted);
  /// The session for `base`'s input, under its edits and these.
  Posted derive(const SessionPointer& base, const Edits& edits);
  /// Throws unknown_session.
  SessionPointer find(const std::string& id);
  void drop(const std::string& id);

 private:
  struct Kept {
    SessionPointer session;
    std::int64_t bytes = 0;
  };
  Posted keep_new(const ModelPointer& model, const SessionInput& input, Session session,
                  const PostedInput& posted);
  SessionPointer kept_session(const ModelPointer& model, const SessionInput& input);
  void check(const LoadedModel& model, const PostedInput& posted) const;
  Session opened(const LoadedModel& model, const SessionInput& input) const;
  void drop_running(const std::string& id);
  Posted keep(Kept kept);
  std::list<Kept>::iterator find_kept(const std::string& id);  // guard_ must be held
  void make_room(std::int64_t bytes);
  void work();
  SessionPointer next_work();

  ModelShelf& models_;
  const ServerLimits limits_;
  const KeptAttention keep_;
  const std::optional<std::int64_t> memory_;
  Overviews& overviews_;
  const std::atomic<bool>& server_stops_;
  const std::function<void()> give_way_;
  const SessionPointer beside_;  // found by its id alone
  std::mutex guard_;
  std::condition_variable wake_;
  std::list<Kept> kept_;                 // most recently used first
  std::list<SessionPointer> work_left_;  // newest first
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace heed::serve
