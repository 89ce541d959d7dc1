#include "serve/session_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "heed/error.h"
#include "inspect/answers/fields.h"
#include "inspect/evidence/edited_run.h"
#include "inspect/session/places.h"
#include "inspect/session/session_memory.h"
#include "serve/connection.h"
#include "serve/route.h"

namespace heed::serve {
namespace {

void check_text(const char* name, const std::string& text, const ServerLimits& limits) {
  if (std::ssize(text) > limits.text_bytes)
    refuse(413, "too_large",
           {.op = "session",
            .argument = name,
            .found = fmt::format("{} long", number_of(text.size(), "byte")),
            .expected = fmt::format("at most {}", limits.text_bytes)});
  const std::int64_t invalid = find_invalid_utf8(text);
  if (invalid >= 0)
    refuse(
        400, "bad_request",
        {.op = "session", .argument = name, .found = fmt::format("not UTF-8 at byte {}", invalid)});
}

Session tokenized(const LoadedModel& model, const SessionInput& input, const ServerLimits& limits,
                  const KeptAttention& keep, std::optional<std::int64_t> memory) {
  Session session;
  try {
    session = input.ids.empty() ? tokenize_session(model, input.texts())
                                : tokenize_session(model, input.ids);
    check_length(session);
    session.keep = keep;
    check_kept(session);
    require_memory(session, model, {.streams = true, .memory = memory});
  } catch (const TooManyTokens& error) {
    refuse(413, "too_large", error.parts());
  } catch (const TooLittleMemory& error) {
    refuse(413, "too_large", error.parts());
  }
  const std::int64_t bytes = session_bytes(session);
  if (bytes > limits.session_bytes)
    refuse(413, "too_large",
           {.op = "session",
            .found = fmt::format("it needs {}", number_of(bytes, "byte")),
            .expected = fmt::format("at most {}, of all sessions", limits.session_bytes)});
  return session;
}

// Cuts the text to what is kept of it; in a chat the last message.
void shorten_input(const LoadedModel& model, const PostedInput& posted, SessionInput& input) {
  if (!input.ids.empty()) return;
  if (posted.chat.empty()) {
    input.text = shorten(model, input.text, posted.keep, input.pair);
    return;
  }
  std::vector<ChatMessage> chat = posted.chat;
  chat.back().content = input.text = shorten(model, chat, posted.keep);
  input.chat = chat_text(model, chat);
}

// Makes this layer's statistics come first.
void look_at(LiveSession& session, const PostedInput& posted) {
  const StackShape& stack = stack_named(session.session().model, session.shapes(), posted.stack);
  if (!posted.layer) return;
  check_layer("session", session.session().model, stack, *posted.layer);
  session.in_view = session.index_of(stack.stack, static_cast<int>(*posted.layer));
}

}  // namespace

const StackShape& stack_named(std::string_view model, std::span<const StackShape> stacks,
                              const std::string& name) {
  if (name.empty()) return stacks.front();
  const std::optional<Stack> stack = stack_of(name);
  if (!stack)
    refuse(404, "not_found",
           {.argument = "stack",
            .found = json_string(clipped(name, kMostShown)),
            .expected = "the name of a stack, as in attentions of the session"});
  return find_stack("session", model, stacks, *stack);
}

SessionStore::SessionStore(ModelShelf& models, const ServerOptions& options, Overviews& overviews,
                           const std::atomic<bool>& server_stops, std::function<void()> give_way)
    : models_(models),
      limits_(options.limits),
      keep_(options.keep),
      memory_(options.memory),
      overviews_(overviews),
      server_stops_(server_stops),
      give_way_(std::move(give_way)),
      beside_(options.beside),
      thread_([this] { work(); }) {
  if (beside_) keep({.session = beside_});
  if (options.session) keep({.session = options.session});
}

SessionStore::~SessionStore() {
  {
    const std::scoped_lock lock(guard_);
    stopping_ = true;
    for (const Kept& kept : kept_) kept.session->dropped = true;
  }
  wake_.notify_all();
  thread_.join();
}

SessionPointer SessionStore::kept_session(const ModelPointer& model, const SessionInput& input) {
  const auto same = [&](const Kept& kept) {
    const bool is_of_model =
        model == nullptr || kept.session->session().model == model->model->name;
    return is_of_model && kept.session != beside_ && kept.session->input == input &&
           !kept.session->progress().failed;
  };
  const std::scoped_lock lock(guard_);
  const auto found = std::ranges::find_if(kept_, same);
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return found->session;
}

void SessionStore::check(const LoadedModel& model, const PostedInput& posted) const {
  const SessionInput& input = posted.input;
  check_text("text", input.text, limits_);
  if (input.pair) check_text("pair", *input.pair, limits_);
  if (input.target) check_text("target", *input.target, limits_);
  for (const ChatMessage& message : posted.chat) check_text("messages", message.content, limits_);
  const ModelInfo& info = model.model->info();
  const StackShape& stack = stack_named(model.name, info.stacks, posted.stack);
  if (posted.layer) check_layer("session", model.name, stack, *posted.layer);
}

SessionStore::Posted SessionStore::post(const PostedInput& posted) {
  SessionInput input = posted.input;
  const ModelPointer model = models_.find(posted.model);
  if (model != nullptr) {
    check(*model->model, posted);
    shorten_input(*model->model, posted, input);
  }
  if (!posted.replaces.empty()) drop_running(posted.replaces);
  if (const SessionPointer kept = posted.edits ? nullptr : kept_session(model, input)) {
    look_at(*kept, posted);
    return {kept, false};
  }
  if (model == nullptr)
    fail("session", "text", "another one", "the one that is shown: there is no model to run",
         ErrorCode::kUnsupported);
  Session session = opened(*model->model, input);
  if (posted.edits) {
    input.edits = posted.edits(session);
    if (const SessionPointer kept = kept_session(model, input)) return {kept, false};
    session = with_edits(session, input.edits);
  }
  return keep_new(model, input, std::move(session), posted);
}

SessionStore::Posted SessionStore::keep_new(const ModelPointer& model, const SessionInput& input,
                                            Session session, const PostedInput& posted) {
  const std::int64_t bytes = session_bytes(session);
  // The session keeps its model, which the shelf may drop.
  const SessionPointer live(new LiveSession(session_name(model->identity, input), input,
                                            std::move(session), *model->model),
                            [model](LiveSession* done) { delete done; });
  live->memory = memory_;
  if (!input.edits.empty()) {
    SessionInput plain = input;
    plain.edits = {};
    live->derived_from = session_name(model->identity, plain);
  }
  look_at(*live, posted);
  return keep({live, bytes});
}

SessionStore::Posted SessionStore::derive(const SessionPointer& base, const Edits& edits) {
  SessionInput input = base->input;
  const ModelPointer model = models_.find(base->session().model);
  Session session = with_edits(base->session(), edits);
  input.edits = session.edits;
  if (const SessionPointer kept = kept_session(model, input)) return {kept, false};
  return keep_new(model, input, std::move(session), {});
}

// An encoder-decoder must generate its target if none was posted, for a client that may leave.
Session SessionStore::opened(const LoadedModel& model, const SessionInput& input) const {
  if (!model.model->info().reads_source() || input.target)
    return tokenized(model, input, limits_, keep_, memory_);
  const ClientWatch client(server_stops_);
  return tokenized(model, input, limits_, keep_, memory_);
}

// Another request may have opened the same session meanwhile; a failed one is tried again.
SessionStore::Posted SessionStore::keep(Kept kept) {
  const SessionPointer session = kept.session;
  {
    const std::scoped_lock lock(guard_);
    const auto named = find_kept(session->id);
    if (named != kept_.end() && !named->session->progress().failed) return {named->session, false};
    if (named != kept_.end()) {
      work_left_.remove(named->session);
      kept_.erase(named);
    }
    make_room(kept.bytes);
    work_left_.push_front(session);
    kept_.push_front(std::move(kept));
  }
  wake_.notify_all();
  return {session, true};
}

std::list<SessionStore::Kept>::iterator SessionStore::find_kept(const std::string& id) {
  return std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.session->id == id; });
}

// A replaced text: the result of its pass is no longer wanted.
void SessionStore::drop_running(const std::string& id) {
  const std::scoped_lock lock(guard_);
  const auto found = find_kept(id);
  if (found == kept_.end() || found->session->pass_ended()) return;
  found->session->dropped = true;
  work_left_.remove(found->session);
  kept_.erase(found);
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
  const auto found = find_kept(id);
  if (found == kept_.end())
    refuse(404, "unknown_session",
           {.argument = "session",
            .found = clipped(id, 32) + ", which is unknown or was dropped",
            .hint = "post the text again"});
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

// Passes before statistics; else the most recently used session.
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
    const bool more = session->work(stopped, overviews_);
    lock.lock();
    if (!more) work_left_.remove(session);
  }
}

}  // namespace heed::serve
