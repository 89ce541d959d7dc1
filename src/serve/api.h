// The endpoints of docs/api.md: a table of routes over what the server keeps.
#pragma once

#include <httplib.h>

#include <atomic>
#include <functional>
#include <span>
#include <string>

#include "inspect/map/recent_cache.h"
#include "inspect/map/sweeper.h"
#include "inspect/map/swept_head.h"
#include "inspect/map/tiles.h"
#include "serve/route.h"
#include "serve/session_store.h"

namespace heed::server {

/// Everything that requests share.
struct Api {
  Api(const LoadedModel& loaded, const ServerOptions& given)
      : model(loaded),
        options(given),
        tiles(given.limits.tile_bytes),
        swept(given.limits.coarse_bytes),
        overviews(given.limits.overview_bytes),
        sessions(loaded, given.limits, overviews, [this] { give_way(); }) {}

  const LoadedModel& model;
  const ServerOptions& options;
  std::atomic<bool> stopping = false;
  std::atomic<int> streams = 0;        // event streams that are open
  std::atomic<bool> pictured = false;  // the ordered picture has been handed over
  std::atomic<int> urgent = 0;         // long answers that are being computed: the background waits
  RecentCache<std::string> tiles;
  RecentCache<SweptHead> swept;
  Overviews overviews;
  Sweeper sweeper;
  SessionStore sessions;

 private:
  void give_way() const;
};

using Handler = void (*)(Api& api, const Parameters& parameters, httplib::Response& response);

struct Route {
  const char* method;
  const char* pattern;
  Handler handler;
};

/// All of them; POST bodies have been read.
std::span<const Route> api_routes();

/// Sends the body with the type that browsers neither guess at nor httplib compresses.
void send_json(httplib::Response& response, int status, const std::string& json);

/// The content of a tile, from what is kept where it can be.
std::string tile_content(Api& api, const SessionPointer& session, const TileRequest& tile,
                         Cancel& cancel);

/// From one sweep over the head, or from what is kept of the last ones.
std::shared_ptr<const SweptHead> swept_head(Api& api, const SessionPointer& session, int layer,
                                            std::int64_t head, Cancel& cancel);

/// An answer that takes time: headers now, the body when `compute` has made it, and nothing more
/// once the client is gone or a newer request of the same `view` is there. `length` 0: not known.
struct LongAnswer {
  SessionPointer session;
  const char* type = "application/json; charset=utf-8";
  std::size_t length = 0;
  std::function<std::string(Cancel& cancel)> compute;
  bool urgent = true;  // the statistics give way; not where the answer waits for them
};
void send_long(Api& api, const Parameters& parameters, httplib::Response& response,
               LongAnswer answer);

// session_answers.cpp, weight_answers.cpp, tile_answers.cpp, events.cpp, export_answers.cpp
void get_models(Api& api, const Parameters& parameters, httplib::Response& response);
void get_model(Api& api, const Parameters& parameters, httplib::Response& response);
void post_session(Api& api, const Parameters& parameters, httplib::Response& response);
void get_session(Api& api, const Parameters& parameters, httplib::Response& response);
void delete_session(Api& api, const Parameters& parameters, httplib::Response& response);
void get_heads(Api& api, const Parameters& parameters, httplib::Response& response);
void get_next(Api& api, const Parameters& parameters, httplib::Response& response);
void get_events(Api& api, const Parameters& parameters, httplib::Response& response);
void get_tile(Api& api, const Parameters& parameters, httplib::Response& response);
void get_row(Api& api, const Parameters& parameters, httplib::Response& response);
void get_rows(Api& api, const Parameters& parameters, httplib::Response& response);
void get_column(Api& api, const Parameters& parameters, httplib::Response& response);
void get_edges(Api& api, const Parameters& parameters, httplib::Response& response);
void get_marginals(Api& api, const Parameters& parameters, httplib::Response& response);
void get_cell(Api& api, const Parameters& parameters, httplib::Response& response);
void get_export(Api& api, const Parameters& parameters, httplib::Response& response);
void post_picture(Api& api, const Parameters& parameters, httplib::Response& response);

/// The session of the path, and numbers of the path or query checked against it (not_found).
SessionPointer find_session(Api& api, const Parameters& parameters);
int check_layer(const LiveSession& session, std::int64_t layer);
std::int64_t check_head(const LiveSession& session, std::int64_t head);
std::int64_t check_token(const LiveSession& session, const char* name, std::int64_t token);

}  // namespace heed::server
