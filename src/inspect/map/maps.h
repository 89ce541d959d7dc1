// Tiles and margins of heads: from what is kept of the last ones, else computed.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "inspect/map/atlas.h"
#include "inspect/map/recent_cache.h"
#include "inspect/map/sweeper.h"
#include "inspect/map/tiles.h"

namespace heed {

using Overviews = RecentCache<Overview>;

/// How many bytes may be kept.
struct MapLimits {
  std::int64_t tile_bytes = 0;      // finished tiles
  std::int64_t coarse_bytes = 0;    // coarse levels of heads, as numbers
  std::int64_t overview_bytes = 0;  // the same as u8
};

class Maps {
 public:
  explicit Maps(const MapLimits& limits)
      : overviews(limits.overview_bytes), tiles_(limits.tile_bytes), swept_(limits.coarse_bytes) {}

  /// The content of a tile. The layer is kept alive by its owner while a sweep runs.
  std::string tile(const std::shared_ptr<const LayerAttention>& layer, const std::string& head_name,
                   const TileRequest& tile, Cancel& cancel);
  /// The thumbnail of a head.
  std::string thumb(const std::shared_ptr<const LayerAttention>& layer,
                    const std::string& head_name, int head, const AtlasCut& cut, Cancel& cancel);
  /// What one sweep over the head finds.
  std::shared_ptr<const SweptHead> swept(const std::shared_ptr<const LayerAttention>& layer,
                                         const std::string& head_name, int head, Cancel& cancel);

  /// How far the sweep of a head is, which its coarse tiles, thumbnail and margins wait for.
  struct HeadSweep {
    bool is_kept = false;                   // what it finds is at hand
    std::optional<std::int64_t> rows = {};  // that it has begun with; none: it does not run
  };
  HeadSweep sweep_of(const std::string& head_name);
  /// After each answer that took memory.
  void answered() { sweeper_.answered(); }

  Overviews overviews;  // of heads, by name; whoever sweeps them all fills it

 private:
  // Runs `sweep` on all cores, and counts its rows under the head's name.
  void sweep_rows(const std::string& head_name, int head,
                  const std::function<void(const SweepStop::Check& check)>& sweep, Cancel& cancel);
  std::string whole_codes(const std::shared_ptr<const LayerAttention>& layer,
                          const std::string& head_name, int head, Cancel& cancel);
  std::string content(const std::shared_ptr<const LayerAttention>& layer,
                      const std::string& head_name, const TileRequest& tile, Cancel& cancel);
  Cells computed(const std::shared_ptr<const LayerAttention>& layer, const CellsRequest& request,
                 Cancel& cancel);

  RecentCache<std::string> tiles_;
  RecentCache<SweptHead> swept_;
  std::mutex guard_;     // of running_
  std::string running_;  // the head that is swept: one at a time
  std::atomic<std::int64_t> rows_begun_ = 0;
  Sweeper sweeper_;  // the last, so that it ends first: its work reads the rest
};

}  // namespace heed
