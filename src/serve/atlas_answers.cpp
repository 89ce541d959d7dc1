// The thumbnails of heads.
#include <fmt/format.h>

#include "heed/error.h"
#include "inspect/map/atlas.h"
#include "serve/api.h"

namespace heed::serve {
namespace {

constexpr std::size_t kMostHeads = 256;  // per answer: at most 16 MB
constexpr std::int64_t kMostCells = 256;

// The heads of a stack, numbered layer by layer.
std::vector<Place> heads_of(const StackShape& stack, const Parameters& parameters) {
  std::vector<Place> places;
  const std::int64_t count = std::int64_t{stack.layers} * stack.heads;
  for (const std::int64_t head : parameters.numbers("heads", kMostHeads)) {
    if (head < 0 || head >= count)
      fail({.code = ErrorCode::kNotFound,
            .op = "atlas",
            .argument = "heads",
            .found = head,
            .expected = fmt::format("0 to {}: layer x {} + head", count - 1, stack.heads)});
    places.push_back({.stack = stack.stack,
                      .layer = static_cast<int>(head / stack.heads),
                      .head = static_cast<int>(head % stack.heads)});
  }
  return places;
}

}  // namespace

void get_atlas(Api& api, const Parameters& parameters, httplib::Response& response) {
  const SessionPointer session = find_session(api, parameters);
  const StackShape& stack = find_stack(*session, parameters);
  const std::vector<Place> places = heads_of(stack, parameters);
  const std::int64_t most = parameters.number("cells", 67, 8, kMostCells);
  require_ready(*session);
  const AtlasCut cut = atlas_cut(session->size(stack.stack), most);
  response.set_header("Cache-Control", kImmutable);
  const auto compute = [&api, session, places, cut](Cancel& cancel) {
    std::string body = atlas_head(cut);
    for (const Place& place : places) {
      cancel.check();
      const std::shared_ptr<const LayerAttention> layer = {session, &session->layer(place)};
      body += api.maps.thumb(layer, session->head_name(place), place.head, cut, cancel);
    }
    return body;
  };
  const std::int64_t count = kAtlasHead + std::ssize(places) * cut.cells();
  send_long(api, parameters, response,
            {session, "application/octet-stream", static_cast<std::size_t>(count), compute});
}

}  // namespace heed::serve
