// Tiles and margins of heads, from a cache or computed.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "inspect/map/recent_cache.h"
#include "inspect/map/sweeper.h"
#include "inspect/map/tiles.h"

namespace heed {

using Overviews = RecentCache<Overview>;

/// Limits of the caches, in bytes.
struct MapLimits {
  std::int64_t tile_bytes = 0;      // finished tiles
  std::int64_t coarse_bytes = 0;    // coarse levels of heads, as numbers
  std::int64_t overview_bytes = 0;  // the same as u8
};

class Maps {
 public:
  explicit Maps(const MapLimits& limits)
      : overviews(limits.overview_bytes), tiles_(limits.tile_bytes), swept_(limits.coarse_bytes) {}

  /// The content of a tile. The layer's owner must stay alive while a sweep runs.
  std::string tile(const std::shared_ptr<const LayerAttention>& layer, const std::string& head_name,
                   const TileRequest& tile, Cancel& cancel);
  /// The thumbnail of a head.
  std::string thumb(const std::shared_ptr<const LayerAttention>& layer,
                    const std::string& head_name, int head, const AtlasCut& cut, Cancel& cancel);
  /// The result of one sweep over the head.
  std::shared_ptr<const SweptHead> swept(const std::shared_ptr<const LayerAttention>& layer,
                                         const std::string& head_name, int head, Cancel& cancel);

  /// Progress of a head's sweep, on which its coarse tiles, thumbnail and margins depend.
  struct HeadSweep {
    bool is_kept = false;                   // its result is cached
    std::optional<std::int64_t> rows = {};  // rows begun; empty: it does not run
  };
  HeadSweep sweep_of(const std::string& head_name);
  /// After each answer that took memory.
  void answered() { sweeper_.answered(); }

  Overviews overviews;  // by head name; filled by the sweep over all heads

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
  std::mutex guard_;     // guards running_
  std::string running_;  // the head being swept: one at a time
  std::atomic<std::int64_t> rows_begun_ = 0;
  Sweeper sweeper_;  // last, so that it ends first, because its work reads the other members
};

}  // namespace heed
