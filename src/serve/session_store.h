// The sessions that are kept, and the one thread that works on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "inspect/answers/live_session.h"
#include "inspect/session/texts.h"
#include "serve/model_shelf.h"
#include "serve/server.h"

namespace heed::serve {

/// What a client asks to be opened.
struct PostedInput {
  std::string model = {};  // its name; empty: the served one
  SessionInput input = {};
  std::string stack = {};  // in view; empty: the model's first
  std::int64_t layer = 0;  // in view
  Keep keep = Keep::kAll;
  std::function<Edits(const Session&)> edits = {};  // of what was cut into tokens; null: none
  std::string replaces = {};                        // a session that the client shows no more
};

/// A stack of the model by its name, or the first where the name is empty (not_found).
const StackShape& stack_named(std::string_view model, std::span<const StackShape> stacks,
                              const std::string& name);

/// Bounded by number and bytes; the session not used for longest goes first.
class SessionStore {
 public:
  /// `models` must outlive it. Without a served model there is the session of the options alone.
  /// While a session is opened, `server_stops` is looked at; `give_way` is called between blocks of
  /// the work, and may wait a little for what is urgent.
  SessionStore(ModelShelf& models, const ServerOptions& options, Overviews& overviews,
               const std::atomic<bool>& server_stops, std::function<void()> give_way);
  ~SessionStore();  // stops the work

  struct Posted {
    SessionPointer session;
    bool fresh = false;
  };
  /// The session of this input: the one that exists, or a new one whose pass begins.
  Posted post(const PostedInput& posted);
  /// The session of what `base` read, under its edits and these.
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
  std::list<Kept>::iterator find_kept(const std::string& id);  // under guard_
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
  std::list<Kept> kept_;                 // the one used last is first
  std::list<SessionPointer> work_left_;  // the newest is first
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace heed::serve
