// What is asked of the weights: tiles, rows, columns, arcs, margins, cells.
#include "inspect/rows/rows.h"
#include "inspect/session/api_error.h"
#include "serve/api.h"

namespace heed::server {
namespace {

constexpr std::int64_t kMostRows = 512;                       // of one answer with arcs
constexpr std::int64_t kMostWeights = std::int64_t{1} << 21;  // of rows as numbers: 8 MiB
constexpr std::size_t kMostHeads = 16;
constexpr std::int64_t kMostArcs = 512 * 16 * 8;  // 2 to 3 MB of text
constexpr const char* kImmutable = "private, max-age=31536000, immutable";

struct Place {
  SessionPointer session;
  int layer = 0;
  std::int64_t head = 0;
};

// Also moves the layer to the front of the statistics: it is in view.
Place place(Api& api, const Parameters& parameters) {
  Place place{.session = find_session(api, parameters), .layer = 0, .head = 0};
  place.layer = check_layer(*place.session, parameters.path_number("layer"));
  place.head = check_head(*place.session, parameters.path_number("head"));
  place.session->layer(place.layer);  // throws not_ready
  place.session->layer_in_view = place.layer;
  return place;
}

bool is_v1(const Parameters& parameters) {
  return parameters.request().path.starts_with("/api/v1/");
}

ArcRule arc_rule(const Parameters& parameters) {
  return {.top_p = parameters.fraction("top_p", 0.9),
          .at_most = parameters.number("at_most", 8, 1, 64)};
}

LineRequest line_request(const Place& place, const Parameters& parameters, const char* name) {
  LineRequest line;
  line.layer = place.layer;
  line.head = place.head;
  line.begin = check_token(*place.session, name, parameters.path_number(name));
  line.end = parameters.number("end", line.begin + 1, line.begin + 1, place.session->length());
  line.rule = arc_rule(parameters);
  return line;
}

TileRequest tile_request(const Place& place, const Parameters& parameters) {
  TileRequest tile;
  tile.session = place.session->id;
  tile.layer = place.layer;
  tile.head = place.head;
  const std::int64_t z = parameters.path_number("z");
  tile.z = z >= 0 && z < 64 ? static_cast<int>(z) : 64;  // no text has so many
  tile.y = parameters.path_number("y");
  tile.x = parameters.path_number("x");
  if (parameters.choice("q", {"weight", "score"}) == 1) tile.value = ObservedValue::kScores;
  if (parameters.choice("pool", {"max", "mean"}) == 1) tile.pool = Pool::kMean;
  tile.bytes = parameters.choice("as", {"u8", "f32"}) == 0;
  if (tile.bytes && tile.value == ObservedValue::kScores)
    refuse(400, "bad_request", "as: u8 holds weights only, expected f32 with q=score");
  return tile;
}

// JSON of a length that is not known before.
LongAnswer long_answer(const SessionPointer& session,
                       std::function<std::string(Cancel& cancel)> compute) {
  LongAnswer answer;
  answer.session = session;
  answer.compute = std::move(compute);
  return answer;
}

}  // namespace

void get_tile(Api& api, const Parameters& parameters, httplib::Response& response) {
  const Place at = place(api, parameters);
  const TileRequest tile = tile_request(at, parameters);
  const CellsRequest cells = tile_cells(tile, at.session->length());
  const std::string name = tile.name();
  const std::string etag = "\"" + name + "\"";
  response.set_header("ETag", etag);
  response.set_header("Cache-Control", kImmutable);
  if (parameters.request().get_header_value("If-None-Match") == etag) {
    response.status = 304;
    return;
  }
  const auto compute = [&api, at, tile, name](Cancel& cancel) {
    std::shared_ptr<const std::string> kept = api.tiles.find(name);
    if (!kept) {
      kept = std::make_shared<const std::string>(tile_content(api, at.session, tile, cancel));
      api.tiles.keep(name, kept, std::ssize(*kept));
    }
    return *kept;
  };
  const std::int64_t count = cells.height() * cells.width() * (tile.bytes ? 1 : 4);
  send_long(api, parameters, response,
            {at.session, "application/octet-stream", static_cast<std::size_t>(count), compute});
}

void get_row(Api& api, const Parameters& parameters, httplib::Response& response) {
  const Place at = place(api, parameters);
  const LineRequest line = line_request(at, parameters, "query");
  send_long(api, parameters, response, long_answer(at.session, [at, line](Cancel& cancel) {
              return row_json(*at.session, line, cancel);
            }));
}

void get_rows(Api& api, const Parameters& parameters, httplib::Response& response) {
  const Place at = place(api, parameters);
  const std::int64_t length = at.session->length();
  const std::int64_t begin =
      check_token(*at.session, "begin", parameters.number("begin", 0, INT64_MIN, INT64_MAX));
  const std::int64_t end = parameters.number("end", begin + 1, begin + 1, length);
  if ((end - begin) * length > kMostWeights)
    refuse(400, "bad_request", "end: found {} rows of {} weights, expected at most {} weights",
           end - begin, length, kMostWeights);
  const CellsRequest cells = {
      .head = at.head, .row_begin = begin, .row_end = end, .key_begin = 0, .key_end = length};
  const auto compute = [at, cells](Cancel& cancel) {
    return encode_cells(matrix_cells(at.session->layer(at.layer), cells, cancel), /*bytes=*/false);
  };
  send_long(api, parameters, response,
            {at.session, "application/octet-stream",
             static_cast<std::size_t>(4 * (end - begin) * length), compute});
}

void get_column(Api& api, const Parameters& parameters, httplib::Response& response) {
  const Place at = place(api, parameters);
  LineRequest line = line_request(at, parameters, "key");
  line.rule.top_p = 1;  // a column has no whole of which arcs could be a part
  send_long(api, parameters, response, long_answer(at.session, [at, line](Cancel& cancel) {
              return column_json(*at.session, line, cancel);
            }));
}

void get_edges(Api& api, const Parameters& parameters, httplib::Response& response) {
  const SessionPointer session = find_session(api, parameters);
  EdgesRequest edges;
  edges.layer = check_layer(*session, is_v1(parameters)
                                          ? parameters.path_number("layer")
                                          : parameters.number("layer", 0, INT64_MIN, INT64_MAX));
  edges.heads = parameters.numbers("heads", kMostHeads);
  for (const std::int64_t head : edges.heads) check_head(*session, head);
  session->layer(edges.layer);
  session->layer_in_view = edges.layer;
  const std::int64_t length = session->length();
  edges.begin = parameters.number("begin", 0, 0, length - 1);
  edges.end =
      parameters.number("end", std::min(length, edges.begin + kMostRows), edges.begin + 1, length);
  if (edges.end - edges.begin > kMostRows)
    refuse(400, "bad_request", "end: found {} rows, expected at most {}", edges.end - edges.begin,
           kMostRows);
  edges.rule = arc_rule(parameters);
  const std::int64_t arcs =
      (edges.end - edges.begin) * std::ssize(edges.heads) * edges.rule.at_most;
  if (arcs > kMostArcs)
    refuse(400, "bad_request",
           "edges: found {} arcs (rows x heads x at_most), expected at most {} at once", arcs,
           kMostArcs);
  send_long(api, parameters, response, long_answer(session, [session, edges](Cancel& cancel) {
              return edges_json(*session, edges, cancel);
            }));
}

void get_marginals(Api& api, const Parameters& parameters, httplib::Response& response) {
  const Place at = place(api, parameters);
  const auto compute = [&api, at](Cancel& cancel) {
    const auto heads = at.session->progress().layers.at(static_cast<std::size_t>(at.layer));
    if (heads)
      return marginals_json(at.layer, at.head,
                            heads->at(static_cast<std::size_t>(at.head)).margins);
    const auto swept = swept_head(api, at.session, at.layer, at.head, cancel);
    return marginals_json(at.layer, at.head, swept->margins);
  };
  send_long(api, parameters, response, long_answer(at.session, compute));
}

void get_cell(Api& api, const Parameters& parameters, httplib::Response& response) {
  const Place at = place(api, parameters);
  const std::int64_t query = check_token(*at.session, "query", parameters.path_number("query"));
  const std::int64_t key = check_token(*at.session, "key", parameters.path_number("key"));
  send_json(response, 200, cell_json(*at.session, at.layer, at.head, query, key));
}

}  // namespace heed::server
