#include "inspect/map/maps.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "inspect/session/session_memory.h"

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

std::int64_t SweptHead::bytes() const {
  const auto numbers = margins.received.size() + margins.keys_in_use.size();
  return static_cast<std::int64_t>(numbers * sizeof(float)) + (coarse ? coarse->bytes() : 0);
}

SweptHead sweep_head(const LayerAttention& layer, std::int64_t head,
                     const SweepStop::Check& check) {
  const MatrixSize size = layer.size();
  const CellsRequest request = coarse_request(head, size, Pool::kMean);
  SweepStop stop(check);
  MarginsSweep margins(head);
  std::optional<CellsObserver> cells;
  std::vector<Observer*> observers = {&stop};
  margins.add_to(observers);
  if (has_coarse(size)) observers.push_back(&cells.emplace(request));
  observe(layer.args(), layer.attended(), observers);
  SweptHead swept{.margins = margins.margins(head), .coarse = {}};
  if (cells) swept.coarse.emplace(cells->gathered, request);
  return swept;
}

Sweeper::Sweeper() : thread_([this] { work(); }) {}

Sweeper::~Sweeper() {
  {
    const std::scoped_lock lock(guard_);
    stopping_ = true;
    for (const auto& job : jobs_) job->unwanted = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Sweeper::run(Work work, Cancel& cancel) {
  constexpr auto kBetween = std::chrono::milliseconds(5);  // checks whether it is still wanted
  const auto job = std::make_shared<Job>();
  job->work = std::move(work);
  std::unique_lock lock(guard_);
  jobs_.push_back(job);
  wake_.notify_one();
  while (!ended_.wait_for(lock, kBetween, [&] { return job->ended; })) {
    lock.unlock();
    if (cancel.asked()) {
      job->unwanted = true;
      fail({.code = ErrorCode::kInterrupted, .found = "the request was cancelled"});
    }
    lock.lock();
  }
  if (job->failure) std::rethrow_exception(job->failure);
}

void Sweeper::answered() {
  answers_.fetch_add(1, std::memory_order_relaxed);
  if (has_freed_.exchange(true)) return;
  const std::scoped_lock lock(guard_);  // the thread is not between its check and its sleep
  wake_.notify_one();
}

// Waits until there is a request; meanwhile returns memory freed by sweeps and answers, once no
// other follows soon.
void Sweeper::wait(std::unique_lock<std::mutex>& lock) {
  constexpr auto kQuiet = std::chrono::milliseconds(250);
  const auto is_asked = [this] { return stopping_ || !jobs_.empty(); };
  while (!is_asked()) {
    if (!has_freed_) {
      wake_.wait(lock, [&] { return is_asked() || has_freed_; });
      continue;
    }
    const std::int64_t seen = answers_.load(std::memory_order_relaxed);
    if (wake_.wait_for(lock, kQuiet, is_asked) || answers_ != seen) continue;
    has_freed_ = false;
    lock.unlock();
    return_memory();
    lock.lock();
  }
}

void Sweeper::work() {
  std::unique_lock lock(guard_);
  for (;;) {
    wait(lock);
    if (stopping_) return;
    has_freed_ = true;
    const std::shared_ptr<Job> job = jobs_.front();
    jobs_.pop_front();
    lock.unlock();
    try {
      const Check check = [&] {
        if (job->unwanted)
          fail({.code = ErrorCode::kInterrupted, .found = "the sweep was cancelled"});
      };
      check();
      job->work(check);
    } catch (...) {
      job->failure = std::current_exception();
    }
    job->work = {};  // frees its data now, not when the last waiter leaves
    lock.lock();
    job->ended = true;
    ended_.notify_all();
  }
}

}  // namespace heed
