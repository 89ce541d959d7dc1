#include "inspect/map/maps.h"

#include <fmt/format.h>

#include "inspect/map/coarse.h"

namespace heed {
namespace {

constexpr std::int64_t kOneCore = std::int64_t{1} << 20;  // entries: 1 to 2 milliseconds

}  // namespace

Cells Maps::computed(const std::shared_ptr<const LayerAttention>& layer,
                     const CellsRequest& request, Cancel& cancel) {
  if (request.entries() <= kOneCore) return matrix_cells(*layer, request, cancel);
  const auto cells = std::make_shared<Cells>();
  sweeper_.run(
      [layer, request, cells](const Sweeper::Check& check) {
        *cells = pooled_cells(gathered_cells(*layer, request, check), request);
      },
      cancel);
  return std::move(*cells);
}

// The sweep owns what it touches: it may outlive the request that asked for it.
std::shared_ptr<const SweptHead> Maps::swept(const std::shared_ptr<const LayerAttention>& layer,
                                             const std::string& head_name, int head,
                                             Cancel& cancel) {
  if (auto kept = swept_.find(head_name)) return kept;
  const auto made = std::make_shared<std::shared_ptr<const SweptHead>>();
  sweeper_.run(
      [this, layer, head_name, head, made](const Sweeper::Check& check) {
        if ((*made = swept_.find(head_name))) return;  // those before may have asked for the same
        *made = std::make_shared<const SweptHead>(sweep_head(*layer, head, check));
        swept_.keep(head_name, *made, (*made)->bytes());
      },
      cancel);
  return *made;
}

std::string Maps::content(const std::shared_ptr<const LayerAttention>& layer,
                          const std::string& head_name, const TileRequest& tile, Cancel& cancel) {
  const CellsRequest request = tile_cells(tile, layer->size());
  const auto compute = [&] { return encode_cells(computed(layer, request, cancel), tile.bytes); };
  if (tile.value == ObservedValue::kScores || request.shift < coarse_shift(layer->size()))
    return compute();
  if (tile.bytes && tile.pool == Pool::kMax)
    if (const auto overview = overviews.find(head_name)) return overview->codes(request);
  const auto head = swept(layer, head_name, tile.place.head, cancel);
  const std::optional<CoarseHead>& coarse = head->coarse;
  return coarse ? encode_cells(coarse->cells(request), tile.bytes) : compute();
}

std::string Maps::tile(const std::shared_ptr<const LayerAttention>& layer,
                       const std::string& head_name, const TileRequest& tile, Cancel& cancel) {
  const std::string name = tile.name();
  std::shared_ptr<const std::string> kept = tiles_.find(name);
  if (!kept) {
    kept = std::make_shared<const std::string>(content(layer, head_name, tile, cancel));
    tiles_.keep(name, kept, std::ssize(*kept));
  }
  return *kept;
}

// The tile of zoom 0. Of a long text a sweep for the largest weights alone takes a third of the
// time of one that finds the margins, too.
std::string Maps::whole_codes(const std::shared_ptr<const LayerAttention>& layer,
                              const std::string& head_name, int head, Cancel& cancel) {
  const MatrixSize size = layer->size();
  const CellsRequest whole = tile_cells({.session = {}, .place = {.head = head}}, size);
  if (!has_coarse(size)) return encode_cells(computed(layer, whole, cancel), /*bytes=*/true);
  if (const auto kept = overviews.find(head_name)) return kept->codes(whole);
  const auto made = std::make_shared<std::shared_ptr<const Overview>>();
  sweeper_.run(
      [layer, head, made](const Sweeper::Check& check) {
        const CellsRequest request = coarse_request(head, layer->size());
        *made = std::make_shared<const Overview>(gathered_cells(*layer, request, check), request);
      },
      cancel);
  overviews.keep(head_name, *made, (*made)->bytes());
  return (*made)->codes(whole);
}

std::string Maps::thumb(const std::shared_ptr<const LayerAttention>& layer,
                        const std::string& head_name, int head, const AtlasCut& cut,
                        Cancel& cancel) {
  const std::string name = fmt::format("{}-atlas-{}", head_name, cut.block);
  std::shared_ptr<const std::string> kept = tiles_.find(name);
  if (!kept) {
    const std::string codes = whole_codes(layer, head_name, head, cancel);
    kept = std::make_shared<const std::string>(thumbnail(codes, layer->size(), cut));
    tiles_.keep(name, kept, std::ssize(*kept));
  }
  return *kept;
}

}  // namespace heed
