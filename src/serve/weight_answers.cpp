// Questions about weights: thumbnails, tiles, rows, columns, arcs, margins, cells.
#include <fmt/format.h>

#include "base/wording.h"
#include "heed/error.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "inspect/map/tiles.h"
#include "inspect/session/places.h"
#include "serve/api.h"

namespace heed::serve {
namespace {

constexpr std::int64_t kMostRows = 512;                       // per answer with arcs
constexpr std::int64_t kMostWeights = std::int64_t{1} << 21;  // for rows as numbers: 8 MiB
constexpr std::size_t kMostMapHeads = 16;
constexpr std::size_t kMostThumbs = 256;  // per answer: at most 16 MB
constexpr std::int64_t kMostCells = 256;
constexpr std::int64_t kMostArcs = 512 * 16 * 8;  // 2 to 3 MB of text

// `q=carried`, for questions that can return carried amounts instead of weights.
Quantity quantity_of(const Parameters& parameters) {
  return parameters.choice("q", {"weight", "carried"}) == 1 ? Quantity::kCarried
                                                            : Quantity::kWeight;
}

LargestRule arc_rule(const Parameters& parameters) {
  return {.top_p = parameters.fraction("top_p", 0.9),
          .at_most = parameters.number("at_most", 8, 1, 64)};
}

LineRequest line_request(const HeadRequest& at, const Parameters& parameters, const char* name,
                         std::int64_t count) {
  LineRequest line{.place = at.place, .quantity = quantity_of(parameters)};
  line.begin = token_of_path(parameters, name, count);
  line.end = parameters.number("end", line.begin + 1, line.begin + 1, count);
  line.rule = arc_rule(parameters);
  return line;
}

TileRequest tile_request(HeadRequest& at, const Parameters& parameters) {
  TileRequest tile;
  tile.session = at.session->id;
  tile.place = at.place;
  const std::int64_t z = parameters.path_number("z");
  tile.z = z >= 0 && z < 64 ? static_cast<int>(z) : 64;  // no text has this many levels
  tile.y = parameters.path_number("y");
  tile.x = parameters.path_number("x");
  const std::size_t q = parameters.choice("q", {"weight", "score", "carried"});
  if (q == 1) tile.value = ObservedValue::kScores;
  if (q == 2) tile.quantity = at.quantity = Quantity::kCarried;
  if (parameters.choice("pool", {"max", "mean"}) == 1) tile.pool = Pool::kMean;
  tile.bytes = parameters.choice("as", {"u8", "f32"}) == 0;
  if (tile.bytes && tile.value == ObservedValue::kScores)
    refuse_parameter("as", "u8, which holds weights only", "f32 with q=score");
  return tile;
}

EdgesRequest edges_request(LiveSession& session, const Parameters& parameters) {
  const StackShape& stack = find_stack(session, parameters);
  EdgesRequest edges{.stack = stack.stack, .quantity = quantity_of(parameters)};
  const std::int64_t layer = parameters.path_number("layer");
  check_layer("session", session.session().model, stack, layer);
  for (const std::int64_t head : parameters.numbers("heads", kMostMapHeads)) {
    check_head("session", session.session().model, stack, head);
    edges.heads.push_back(static_cast<int>(head));
  }
  require_ready(session);
  edges.layer = layer_in_view(session, stack, layer);
  const std::int64_t rows = session.size(stack.stack).queries;
  edges.begin = parameters.number("begin", 0, 0, rows - 1);
  edges.end =
      parameters.number("end", std::min(rows, edges.begin + kMostRows), edges.begin + 1, rows);
  edges.rule = arc_rule(parameters);
  return edges;
}

void check_count(const EdgesRequest& edges) {
  const std::int64_t rows = edges.end - edges.begin;
  if (rows > kMostRows)
    refuse_parameter("end", fmt::format("{} behind begin", number_of(rows, "row")),
                     fmt::format("at most {}", kMostRows));
  const std::int64_t arcs = rows * std::ssize(edges.heads) * edges.rule.at_most;
  if (arcs > kMostArcs)
    refuse(400, "bad_request",
           {.op = "edges",
            .argument = "rows x heads x at_most",
            .found = arcs,
            .expected = fmt::format("at most {} arcs at once", kMostArcs)});
}

// The heads of a stack, numbered layer by layer.
std::vector<Place> heads_of(const StackShape& stack, const Parameters& parameters) {
  std::vector<Place> places;
  const std::int64_t count = std::int64_t{stack.layers} * stack.heads;
  for (const std::int64_t head : parameters.numbers("heads", kMostThumbs)) {
    if (head < 0 || head >= count)
      fail("atlas", "heads", head,
           fmt::format("0 to {}: layer x {} + head", count - 1, stack.heads), ErrorCode::kNotFound);
    places.push_back({.stack = stack.stack,
                      .layer = static_cast<int>(head / stack.heads),
                      .head = static_cast<int>(head % stack.heads)});
  }
  return places;
}

}  // namespace

HeadRequest head_request(const Call& call) {
  HeadRequest request{.session = find_session(call)};
  request.place = place_of_path(*request.session, call);
  require_ready(*request.session);
  layer_in_view(*request.session, find_stack(*request.session, call), request.place.layer);
  request.size = request.session->size(request.place.stack);
  return request;
}

void get_atlas(const Call& call) {
  const SessionPointer session = find_session(call);
  const StackShape& stack = find_stack(*session, call);
  const std::vector<Place> places = heads_of(stack, call);
  const std::int64_t most = call.number("cells", 67, 8, kMostCells);
  require_ready(*session);
  const AtlasCut cut = atlas_cut(session->size(stack.stack), most);
  call.response.set_header("Cache-Control", kImmutable);
  const auto compute = [&api = call.api, session, places, cut](Cancel& cancel) {
    std::string body = atlas_head(cut);
    for (const Place& place : places) {
      cancel.check();
      const std::shared_ptr<const LayerAttention> layer = {session, &session->layer(place)};
      body += api.maps.thumb(layer, session->head_name(place), place.head, cut, cancel);
    }
    return body;
  };
  const std::int64_t count = kAtlasHead + std::ssize(places) * cut.cells();
  send_long(call, {session, "application/octet-stream", static_cast<std::size_t>(count), compute});
}

void get_tile(const Call& call) {
  HeadRequest at = head_request(call);
  const TileRequest tile = tile_request(at, call);
  const CellsRequest cells = tile_cells(tile, at.size);
  const std::string etag = fmt::format("\"{}\"", tile.name());
  call.response.set_header("ETag", etag);
  call.response.set_header("Cache-Control", kImmutable);
  if (call.request().get_header_value("If-None-Match") == etag) {
    call.response.status = 304;
    return;
  }
  const auto compute = [&api = call.api, at, tile](Cancel& cancel) {
    return api.maps.tile(at.layer(cancel), at.name(), tile, cancel);
  };
  const std::int64_t count = cells.height() * cells.width() * (tile.bytes ? 1 : 4);
  send_long(call,
            {at.session, "application/octet-stream", static_cast<std::size_t>(count), compute});
}

void get_row(const Call& call) {
  const HeadRequest at = head_request(call);
  const LineRequest line = line_request(at, call, "query", at.size.queries);
  send_answer(call, at.session,
              [=](Cancel& cancel) { return answer_row(*at.session, line, cancel); });
}

void get_rows(const Call& call) {
  HeadRequest at = head_request(call);
  at.quantity = quantity_of(call);
  const std::int64_t begin = token_asked(call, "begin", 0, at.size.queries);
  const std::int64_t end = call.number("end", begin + 1, begin + 1, at.size.queries);
  const std::int64_t weights = (end - begin) * at.size.keys;
  if (weights > kMostWeights)
    refuse_parameter("end",
                     fmt::format("{} of {} behind begin", number_of(end - begin, "row"),
                                 number_of(at.size.keys, "weight")),
                     fmt::format("at most {} weights", kMostWeights));
  const CellsRequest cells = {
      .head = at.place.head, .row_begin = begin, .row_end = end, .key_end = at.size.keys};
  const auto compute = [at, cells](Cancel& cancel) {
    return encode_cells(matrix_cells(*at.layer(cancel), cells, cancel), /*bytes=*/false);
  };
  send_long(call, {at.session, "application/octet-stream", static_cast<std::size_t>(4 * weights),
                   compute});
}

void get_column(const Call& call) {
  const HeadRequest at = head_request(call);
  LineRequest line = line_request(at, call, "key", at.size.keys);
  line.rule.top_p.reset();  // a column has no total of which arcs could be a part
  send_answer(call, at.session,
              [=](Cancel& cancel) { return answer_column(*at.session, line, cancel); });
}

void get_edges(const Call& call) {
  const SessionPointer session = find_session(call);
  const EdgesRequest edges = edges_request(*session, call);
  check_count(edges);
  send_answer(call, session, [=](Cancel& cancel) { return answer_edges(*session, edges, cancel); });
}

void get_marginals(const Call& call) {
  HeadRequest at = head_request(call);
  at.quantity = quantity_of(call);
  const auto compute = [&api = call.api, at](Cancel& cancel) {
    const LayerHeads heads = at.session->heads(at.place.stack, at.place.layer);
    if (heads && at.quantity == Quantity::kWeight) {
      const Margins& margins = heads->at(static_cast<std::size_t>(at.place.head)).margins;
      return to_json(answer_marginals(at.place, margins));
    }
    const auto swept = api.maps.swept(at.layer(cancel), at.name(), at.place.head, cancel);
    return to_json(answer_marginals(at.place, swept->margins));
  };
  send_long(call, {.session = at.session, .compute = compute});
}

void get_sweep(const Call& call) {
  HeadRequest at = head_request(call);
  at.quantity = quantity_of(call);
  const Maps::HeadSweep sweep = call.api.maps.sweep_of(at.name());
  send_json(call.response, 200,
            to_json(SweepAnswer{at.place, sweep.is_kept, sweep.rows, at.size.queries}));
}

void get_cell(const Call& call) {
  const HeadRequest at = head_request(call);
  const std::int64_t query = token_of_path(call, "query", at.size.queries);
  const std::int64_t key = token_of_path(call, "key", at.size.keys);
  send_answer(call, at.session,
              [=](Cancel&) { return answer_cell(*at.session, at.place, query, key); });
}

}  // namespace heed::serve
