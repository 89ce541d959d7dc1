// The endpoints of docs/api.md: a table of routes over what the server keeps.
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

/// Everything that requests share.
struct Api {
  /// `loaded` null: nothing but the session of the options is shown.
  Api(const LoadedModel* loaded, const ServerOptions& given)
      : model(loaded),
        options(given),
        maps({given.limits.tile_bytes, given.limits.coarse_bytes, given.limits.overview_bytes}),
        shelf(loaded, given, stopping),
        sessions(shelf, given, maps.overviews, stopping, [this] { give_way(); }) {}

  const LoadedModel* model;
  const ServerOptions& options;
  std::atomic<bool> stopping = false;
  std::atomic<int> streams = 0;        // event streams that are open
  std::atomic<bool> pictured = false;  // the ordered picture has been handed over
  std::atomic<int> urgent = 0;         // long answers that are being computed: the background waits
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
  std::string_view parameters = {};  // behind the question mark, with blanks between
};

/// Of answers that never change.
inline constexpr const char* kImmutable = "private, max-age=31536000, immutable";

/// All of them; POST bodies have been read.
std::span<const Route> api_routes();

/// Answers a request of a path below /api/, whose body has been read; what is wrong with it is an
/// answer too.
void answer_api(Api& api, const httplib::Request& request, httplib::Response& response);
/// What `answer` throws becomes the answer.
void answer_safely(httplib::Response& response, const std::function<void()>& answer);

inline constexpr const char* kRead = "GET, HEAD";
/// The type of an answer whose lines are objects.
inline constexpr const char* kObjectLines = "application/x-ndjson; charset=utf-8";
[[noreturn]] void refuse_method(httplib::Response& response, const std::string& allowed);

/// Sends the body with the type that browsers neither guess at nor httplib compresses.
void send_json(httplib::Response& response, int status, const std::string& json);

/// An answer that takes time: headers now, the body when `compute` has made it, and nothing more
/// once the client is gone or a newer request of the same `view` is there. `length` 0: not known.
struct LongAnswer {
  SessionPointer session;
  const char* type = "application/json; charset=utf-8";
  std::size_t length = 0;
  std::function<std::string(Cancel& cancel)> compute;
  /// In place of `compute` where the client asks for progress: the answer is the last of several
  /// lines, each an object; `tell` sends one ahead of it.
  using Tell = std::function<void(std::string line)>;
  std::function<std::string(Cancel& cancel, const Tell& tell)> compute_in_lines = {};
  bool urgent = true;  // the statistics give way; not where the answer waits for them
  bool named = true;   // `view` names what it replaces; in an export it is an address
};
void send_long(Api& api, const Parameters& parameters, httplib::Response& response,
               LongAnswer answer);
/// The error with which an answer ends that a newer request of the same `view` replaces.
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

/// The head of the path, in a session whose pass has ended; its layer is in view from now on.
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
  /// Of what is kept of its matrix.
  std::string name() const {
    return session->head_name(place) + (quantity == Quantity::kWeight ? "" : "-carried");
  }
};
HeadRequest head_request(Api& api, const Parameters& parameters);
/// JSON of a length that is not known before.
LongAnswer long_answer(const SessionPointer& session,
                       std::function<std::string(Cancel& cancel)> compute);

/// The session of the path, and the path's stack in it (not_found).
SessionPointer find_session(Api& api, const Parameters& parameters);
const StackShape& find_stack(const LiveSession& session, const Parameters& parameters);
/// The layer of the path or query, checked; its statistics come first from now on.
int layer_in_view(LiveSession& session, const StackShape& stack, std::int64_t layer);
/// Throws not_ready while the pass runs, and what it died of.
void require_ready(const LiveSession& session);
std::int64_t check_token(const char* name, std::int64_t token, std::int64_t count);

}  // namespace heed::serve
