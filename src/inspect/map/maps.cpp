#include "inspect/map/maps.h"

#include <fmt/format.h>

#include "inspect/map/coarse.h"

namespace heed {
namespace {

// Entries of a request that does not wait for earlier sweeps: 2 to 4 milliseconds on one core.
constexpr std::int64_t kMostPairs = std::int64_t{1} << 20;

}  // namespace

Cells Maps::computed(const std::shared_ptr<const LayerAttention>& layer,
                     const CellsRequest& request, Cancel& cancel) {
  if (request.entries() <= kMostPairs) return matrix_cells(*layer, request, cancel);
  const auto cells = std::make_shared<Cells>();
  sweeper_.run(
      [layer, request, cells](const Sweeper::Check& check) {
        const auto asked = [&](const ObservedRows&) { check(); };
        *cells = pooled_cells(gathered_cells(*layer, request, asked), request);
      },
      cancel);
  return std::move(*cells);
}

void Maps::sweep_rows(const std::string& head_name, int head,
                      const std::function<void(const SweepStop::Check& check)>& sweep,
                      Cancel& cancel) {
  const auto name_running = [this](const std::string& name) {
    const std::scoped_lock lock(guard_);
    running_ = name;
    rows_begun_ = 0;
  };
  const auto counted = [this, name_running, head_name, head, sweep](const Sweeper::Check& check) {
    name_running(head_name);
    try {
      sweep([&](const ObservedRows& rows) {
        check();
        if (rows.head == head) rows_begun_ += rows.row_end - rows.row_begin;
      });
    } catch (...) {
      name_running({});
      throw;
    }
    name_running({});
  };
  sweeper_.run(counted, cancel);
}

Maps::HeadSweep Maps::sweep_of(const std::string& head_name) {
  if (overviews.find(head_name) || swept_.find(head_name)) return {.is_kept = true};
  const std::scoped_lock lock(guard_);
  return {.rows = running_ == head_name ? std::optional(rows_begun_.load()) : std::nullopt};
}

// The sweep owns its data, because it may outlive its request.
std::shared_ptr<const SweptHead> Maps::swept(const std::shared_ptr<const LayerAttention>& layer,
                                             const std::string& head_name, int head,
                                             Cancel& cancel) {
  if (auto kept = swept_.find(head_name)) return kept;
  const auto made = std::make_shared<std::shared_ptr<const SweptHead>>();
  sweep_rows(
      head_name, head,
      [this, layer, head_name, head, made](const SweepStop::Check& check) {
        if ((*made = swept_.find(head_name))) return;  // an earlier sweep may have computed it
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

// The tile of zoom 0. For a long text, a sweep for only the largest weights takes a third of the
// time of one that also finds the margins.
std::string Maps::whole_codes(const std::shared_ptr<const LayerAttention>& layer,
                              const std::string& head_name, int head, Cancel& cancel) {
  const MatrixSize size = layer->size();
  const CellsRequest whole = tile_cells({.session = {}, .place = {.head = head}}, size);
  if (!has_coarse(size)) return encode_cells(computed(layer, whole, cancel), /*bytes=*/true);
  if (const auto kept = overviews.find(head_name)) return kept->codes(whole);
  const auto made = std::make_shared<std::shared_ptr<const Overview>>();
  sweep_rows(
      head_name, head,
      [layer, head, made](const SweepStop::Check& check) {
        const CellsRequest request = coarse_request(head, layer->size(), Pool::kMax);
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
