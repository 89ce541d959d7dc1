// Tiles: from what is kept of the head, else computed.
#include "inspect/map/coarse.h"
#include "serve/api.h"

namespace heed::server {
namespace {

constexpr std::int64_t kOneCore = std::int64_t{1} << 20;  // entries: 1 to 2 milliseconds

Cells computed_cells(Api& api, const SessionPointer& session, int layer,
                     const CellsRequest& request, Cancel& cancel) {
  if (request.entries() <= kOneCore) return matrix_cells(session->layer(layer), request, cancel);
  const auto cells = std::make_shared<Cells>();
  api.sweeper.run(
      [session, layer, request, cells](const Sweeper::Check& check) {
        *cells = pooled_cells(gathered_cells(session->layer(layer), request, check), request);
      },
      cancel);
  return std::move(*cells);
}

}  // namespace

// The sweep owns what it touches: it may outlive the request that asked for it.
std::shared_ptr<const SweptHead> swept_head(Api& api, const SessionPointer& session, int layer,
                                            std::int64_t head, Cancel& cancel) {
  const std::string name = session->head_name(layer, head);
  if (auto kept = api.swept.find(name)) return kept;
  const auto made = std::make_shared<std::shared_ptr<const SweptHead>>();
  api.sweeper.run(
      [&api, session, name, layer, head, made](const Sweeper::Check& check) {
        if ((*made = api.swept.find(name))) return;  // those who waited before asked for the same
        *made = std::make_shared<const SweptHead>(sweep_head(session->layer(layer), head, check));
        api.swept.keep(name, *made, (*made)->bytes());
      },
      cancel);
  return *made;
}

std::string tile_content(Api& api, const SessionPointer& session, const TileRequest& tile,
                         Cancel& cancel) {
  const std::int64_t length = session->length();
  const CellsRequest request = tile_cells(tile, length);
  const auto computed = [&] {
    return encode_cells(computed_cells(api, session, tile.layer, request, cancel), tile.bytes);
  };
  if (tile.value == ObservedValue::kScores || request.shift < coarse_shift(length))
    return computed();
  if (tile.bytes && tile.pool == Pool::kMax)
    if (const auto overview = api.overviews.find(session->head_name(tile.layer, tile.head)))
      return overview->codes(request);
  const auto swept = swept_head(api, session, tile.layer, tile.head, cancel);
  const std::optional<CoarseHead>& coarse = swept->coarse;
  return coarse ? encode_cells(coarse->cells(request), tile.bytes) : computed();
}

}  // namespace heed::server
