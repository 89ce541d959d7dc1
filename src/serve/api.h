// The endpoints of docs/api.md: a table of routes and the data that the server keeps.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "inspect/map/maps.h"
#include "serve/api_error.h"
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

using Handler = void (*)(Api& api, const Parameters& parameters, httplib::Response& response);

struct Route {
  const char* method;
  const char* pattern;
  Handler handler;
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
void send_long(Api& api, const Parameters& parameters, httplib::Response& response,
               LongAnswer answer);
/// The error that ends an answer when a newer request of the same `view` replaces it.
std::string replaced_json();

// session_answers.cpp, words_answers.cpp, flow_answers.cpp, weight_answers.cpp, head_answers.cpp,
// evidence_answers.cpp, atlas_answers.cpp, events.cpp, export_answers.cpp
void get_models(Api& api, const Parameters& parameters, httplib::Response& response);
void get_found_models(Api& api, const Parameters& parameters, httplib::Response& response);
void post_session(Api& api, const Parameters& parameters, httplib::Response& response);
void get_session(Api& api, const Parameters& parameters, httplib::Response& response);
void delete_session(Api& api, const Parameters& parameters, httplib::Response& response);
void get_heads(Api& api, const Parameters& parameters, httplib::Response& response);
void get_next(Api& api, const Parameters& parameters, httplib::Response& response);
void get_logits(Api& api, const Parameters& parameters, httplib::Response& response);
void get_words(Api& api, const Parameters& parameters, httplib::Response& response);
void get_lens(Api& api, const Parameters& parameters, httplib::Response& response);
void get_branch(Api& api, const Parameters& parameters, httplib::Response& response);
void get_beams(Api& api, const Parameters& parameters, httplib::Response& response);
void get_flow(Api& api, const Parameters& parameters, httplib::Response& response);
void get_flow_graph(Api& api, const Parameters& parameters, httplib::Response& response);
void get_effects(Api& api, const Parameters& parameters, httplib::Response& response);
void get_events(Api& api, const Parameters& parameters, httplib::Response& response);
void get_atlas(Api& api, const Parameters& parameters, httplib::Response& response);
void get_tile(Api& api, const Parameters& parameters, httplib::Response& response);
void get_row(Api& api, const Parameters& parameters, httplib::Response& response);
void get_rows(Api& api, const Parameters& parameters, httplib::Response& response);
void get_column(Api& api, const Parameters& parameters, httplib::Response& response);
void get_edges(Api& api, const Parameters& parameters, httplib::Response& response);
void get_marginals(Api& api, const Parameters& parameters, httplib::Response& response);
void get_sweep(Api& api, const Parameters& parameters, httplib::Response& response);
void get_cell(Api& api, const Parameters& parameters, httplib::Response& response);
void get_late(Api& api, const Parameters& parameters, httplib::Response& response);
void get_evidence(Api& api, const Parameters& parameters, httplib::Response& response);
void post_similar(Api& api, const Parameters& parameters, httplib::Response& response);
void get_alignment(Api& api, const Parameters& parameters, httplib::Response& response);
void get_changes(Api& api, const Parameters& parameters, httplib::Response& response);
void get_why(Api& api, const Parameters& parameters, httplib::Response& response);
void get_origins(Api& api, const Parameters& parameters, httplib::Response& response);
void get_effect(Api& api, const Parameters& parameters, httplib::Response& response);
void get_test(Api& api, const Parameters& parameters, httplib::Response& response);
void get_anatomy(Api& api, const Parameters& parameters, httplib::Response& response);
void get_dimensions(Api& api, const Parameters& parameters, httplib::Response& response);
void get_geometry(Api& api, const Parameters& parameters, httplib::Response& response);
void post_derive(Api& api, const Parameters& parameters, httplib::Response& response);
void get_export(Api& api, const Parameters& parameters, httplib::Response& response);
void post_picture(Api& api, const Parameters& parameters, httplib::Response& response);

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
HeadRequest head_request(Api& api, const Parameters& parameters);
/// JSON of unknown length.
LongAnswer long_answer(const SessionPointer& session,
                       std::function<std::string(Cancel& cancel)> compute);

/// The path's session, and the path's stack in it (not_found).
SessionPointer find_session(Api& api, const Parameters& parameters);
const StackShape& find_stack(const LiveSession& session, const Parameters& parameters);
/// The layer of the path or query, checked; its statistics are computed first from now on.
int layer_in_view(LiveSession& session, const StackShape& stack, std::int64_t layer);
/// Throws not_ready while the pass runs, and the pass's error if it failed.
void require_ready(const LiveSession& session);
std::int64_t check_token(const char* name, std::int64_t token, std::int64_t count);

}  // namespace heed::serve
