// Tiles and margins of heads, from a cache or computed by one sweep after the other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "inspect/map/coarse.h"
#include "inspect/map/margins.h"
#include "inspect/map/tiles.h"
#include "inspect/session/cancel.h"

namespace heed {

struct SweptHead {
  Margins margins;
  std::optional<CoarseHead> coarse;  // if the text is long enough for coarse levels

  std::int64_t bytes() const;
};

/// Runs on all cores; `check` is called on several threads, and throws to stop.
SweptHead sweep_head(const LayerAttention& layer, std::int64_t head, const SweepStop::Check& check);

/// Runs long sweeps one after the other.
/// Memory freed by sweeps and other answers returns to the system if no other follows soon. Running
/// requests side by side would divide the cores, and the first request would finish last.
class Sweeper {
 public:
  /// Called between blocks on several threads; throws when no request waits any more.
  using Check = std::function<void()>;
  using Work = std::function<void(const Check& check)>;

  Sweeper();
  ~Sweeper();

  /// Runs the work after the earlier ones, and rethrows its exception. Cancelled work may continue
  /// briefly after this has thrown kInterrupted, so it must own its data.
  void run(Work work, Cancel& cancel);
  /// Call it after answering a request, whose memory is then free.
  void answered();

 private:
  struct Job {
    Work work;
    std::atomic<bool> unwanted = false;
    bool ended = false;
    std::exception_ptr failure;
  };
  void work();
  void wait(std::unique_lock<std::mutex>& lock);

  std::mutex guard_;
  std::condition_variable wake_;   // there is work
  std::condition_variable ended_;  // work has ended
  std::deque<std::shared_ptr<Job>> jobs_;
  bool stopping_ = false;
  std::atomic<std::int64_t> answers_ = 0;
  std::atomic<bool> has_freed_ = false;  // there is memory to return
  std::thread thread_;
};

/// Finished answers by name, limited in bytes; the least recently used is dropped first.
template <typename Value>
class RecentCache {
 public:
  explicit RecentCache(std::int64_t bytes) : limit_(bytes) {}

  std::shared_ptr<const Value> find(const std::string& name) {
    const std::scoped_lock lock(guard_);
    const auto place = places_.find(name);
    if (place == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, place->second);
    return place->second->value;
  }

  /// Keeps the first value of a name, unless it exceeds the whole limit.
  void keep(const std::string& name, std::shared_ptr<const Value> value, std::int64_t bytes) {
    const std::scoped_lock lock(guard_);
    if (places_.contains(name) || bytes > limit_) return;
    bytes_ += bytes;
    entries_.push_front({name, std::move(value), bytes});
    places_[name] = entries_.begin();
    while (bytes_ > limit_) {
      bytes_ -= entries_.back().bytes;
      places_.erase(entries_.back().name);
      entries_.pop_back();
    }
  }

 private:
  struct Entry {
    std::string name;
    std::shared_ptr<const Value> value;
    std::int64_t bytes;
  };
  std::mutex guard_;
  std::int64_t limit_;
  std::int64_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string, typename std::list<Entry>::iterator> places_;
};

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
