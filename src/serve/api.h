// The endpoints of docs/api.md: a table of routes and the data that the server keeps.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "inspect/answers/answer_writer.h"
#include "inspect/map/maps.h"
#include "serve/model_shelf.h"
#include "serve/route.h"
#include "serve/session_store.h"

namespace heed::serve {

/// The data shared by all requests.
struct Api {
  /// `loaded` null: only the session in the options is shown.
  Api(const LoadedModel* loaded, const ServerOptions& given)
      : model(loaded),
        options(given),
        maps({given.limits.tile_bytes, given.limits.coarse_bytes, given.limits.overview_bytes}),
        shelf(loaded, given, stopping),
        sessions(shelf, given, maps.overviews, stopping, [this] { give_way(); }) {}

  const LoadedModel* model;
  const ServerOptions& options;
  std::atomic<bool> stopping = false;
  std::atomic<int> streams = 0;        // number of open event streams
  std::atomic<bool> pictured = false;  // the ordered picture has been delivered
  std::atomic<int> urgent = 0;         // long answers being computed: background work waits
  Maps maps;
  ModelShelf shelf;
  SessionStore sessions;

 private:
  using Clock = std::chrono::steady_clock;
  void give_way();

  std::atomic<Clock::rep> background_works_until_ = 0;
};

/// A request: its parameters, the server's data, and where the answer goes.
struct Call : Parameters {
  Api& api;
  httplib::Response& response;
};
using Handler = void(const Call& call);

struct Route {
  const char* method;
  const char* pattern;
  Handler* handler;
  std::string_view parameters = {};  // after the question mark, separated by spaces
};

/// For answers that never change.
inline constexpr const char* kImmutable = "private, max-age=31536000, immutable";

/// All routes; bodies of POST requests have been read.
std::span<const Route> api_routes();

/// Answers a request with a path below /api/, whose body has been read; its errors become answers
/// too.
void answer_api(Api& api, const httplib::Request& request, httplib::Response& response);
/// Turns an exception of `answer` into the answer.
void answer_safely(httplib::Response& response, const std::function<void()>& answer);

inline constexpr const char* kRead = "GET, HEAD";
/// The content type of an answer whose lines are objects.
inline constexpr const char* kObjectLines = "application/x-ndjson; charset=utf-8";
[[noreturn]] void refuse_method(httplib::Response& response, const std::string& allowed);

/// Sends the body with a type that browsers do not guess and httplib does not compress.
void send_json(httplib::Response& response, int status, const std::string& json);

/// A slow answer: sends headers now and the body when `compute` has made it, or nothing more once
/// the client is gone or a newer request of the same `view` arrives. `length` 0: unknown.
struct LongAnswer {
  SessionPointer session;
  const char* type = "application/json; charset=utf-8";
  std::size_t length = 0;
  std::function<std::string(Cancel& cancel)> compute;
  /// Replaces `compute` if the client asks for progress: the answer is the last of several lines,
  /// each an object; `tell` sends one line before it.
  using Tell = std::function<void(std::string line)>;
  std::function<std::string(Cancel& cancel, const Tell& tell)> compute_in_lines = {};
  bool urgent = true;  // the statistics pause; not if the answer waits for them
  bool named = true;   // `view` identifies requests that replace each other; or an address
};
void send_long(const Call& call, LongAnswer answer);
/// The same for the JSON of what `answer(cancel)` returns.
void send_answer(const Call& call, const SessionPointer& session, auto answer, bool urgent = true) {
  send_long(call, {.session = session,
                   .compute = [answer](Cancel& cancel) { return to_json(answer(cancel)); },
                   .urgent = urgent});
}
/// The `compute` of an answer on one thread, whose `check` is called between pieces of work.
std::function<std::string(Cancel& cancel)> serially(
    std::function<std::string(const std::function<void()>& check)> compute);
/// The error that ends an answer when a newer request of the same `view` replaces it.
std::string replaced_json();

// session_answers.cpp
Handler get_models, get_found_models, post_session, get_session, delete_session, get_heads;
// words_answers.cpp
Handler get_next, get_logits, get_words, get_lens, get_branch, get_beams;
// flow_answers.cpp
Handler get_flow, get_flow_graph, get_effects;
// weight_answers.cpp
Handler get_atlas, get_tile, get_row, get_rows, get_column, get_edges, get_marginals, get_sweep,
    get_cell;
// head_answers.cpp
Handler get_chosen, get_late, get_evidence, post_similar, get_alignment, get_changes;
// evidence_answers.cpp
Handler get_why, get_origins, get_effect, get_test, get_anatomy, get_dimensions, get_geometry,
    post_derive;
// events.cpp, export_answers.cpp
Handler get_events, get_export, post_picture;

/// The path's head in a session whose pass has ended; its layer is in view from now on.
struct HeadRequest {
  SessionPointer session;
  Place place = {};
  MatrixSize size = {};
  Quantity quantity = Quantity::kWeight;

  // Keeps the session alive.
  std::shared_ptr<const LayerAttention> layer(Cancel& cancel) const {
    if (quantity != Quantity::kWeight) return session->layer_as(quantity, place, cancel);
    return {session, &session->layer(place)};
  }
  /// The cache key of this head's matrix.
  std::string name() const {
    return session->head_name(place) + (quantity == Quantity::kWeight ? "" : "-carried");
  }
};
HeadRequest head_request(const Call& call);
/// The path's session, and the path's stack in it (not_found).
SessionPointer find_session(const Call& call);
const StackShape& find_stack(const LiveSession& session, const Parameters& parameters);
/// The layer of the path or query, checked; its statistics are computed first from now on.
int layer_in_view(LiveSession& session, const StackShape& stack, std::int64_t layer);
/// Throws not_ready while the pass runs, and the pass's error if it failed.
void require_ready(const LiveSession& session);
/// The index of one of `count` tokens: a parameter, `otherwise` if not given, or a part of the
/// path.
std::int64_t token_asked(const Parameters& parameters, const char* name, std::int64_t otherwise,
                         std::int64_t count);
std::int64_t token_of_path(const Parameters& parameters, const char* name, std::int64_t count);
/// The same for a parameter that may be missing.
std::optional<std::int64_t> token_if_asked(const Parameters& parameters, const char* name,
                                           std::int64_t count);
/// A head of the stack, checked; the path's layer and head.
Place place_asked(const LiveSession& session, const StackShape& stack, std::int64_t layer,
                  std::int64_t head);
Place place_of_path(const LiveSession& session, const Parameters& parameters);

}  // namespace heed::serve
