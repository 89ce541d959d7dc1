#include "heed/observe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include "attention/api/checked.h"
#include "attention/api/gradients.h"
#include "attention/sweep/weights.h"
#include "base/thread_pool.h"
#include "heed/error.h"
#include "heed/threads.h"

namespace heed {
namespace {

// An observer of a block of rows, and its intermediate results there.
struct Watching {
  Observer* observer;
  TileParts parts;
  std::unique_ptr<Observer::State> state;
};

using SinkWeights = std::array<double, kMaskRows>;

ObservedTile observed(const kernels::WeightTile& tile) {
  return {.key_begin = tile.key_begin,
          .key_end = tile.key_end,
          .weights = tile.weights,
          .log_weights = tile.log_weights,
          .scores = tile.scores,
          .before_softcap = tile.before_softcap,
          .before_bias = tile.before_bias,
          .before_mask = tile.before_mask,
          .value_norms = tile.value_norms,
          .visible = tile.visible};
}

// Blocks are observed on several threads, but merged one at a time in order.
class InOrder {
 public:
  // Waits for all blocks before `index`. Returns false if one of them failed, or never began
  // because the sweep was asked to stop. An earlier block may take long, or pause while something
  // urgent is computed, so the waiting thread gives up its core.
  bool wait(std::int64_t index) const {
    constexpr int kYields = 64;
    constexpr auto kSleep = std::chrono::microseconds(50);
    for (int waits = 0; next_.load(std::memory_order_acquire) != index; ++waits) {
      if (ThreadPool::has_failed()) return false;
      if (waits < kYields)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(kSleep);
    }
    return true;
  }
  void done(std::int64_t index) { next_.store(index + 1, std::memory_order_release); }

 private:
  std::atomic<std::int64_t> next_{0};
};

class Sweep {
 public:
  Sweep(const kernels::AttentionProblem& problem, const GivenLse& lse,
        std::span<Observer* const> observers)
      : problem_(problem), lse_(lse), observers_(observers) {}

  void run() {
    const std::vector<HeadBlocks> heads = needed();
    const std::int64_t count = heads.empty() ? 0 : heads.back().end;
    parallel_for(count, [&](std::int64_t index, int) {
      ObservedRows rows =
          block(*std::ranges::upper_bound(heads, index, {}, &HeadBlocks::end), index);
      SinkWeights sink;
      if (problem_.score.sink != nullptr) rows.sink = sink_weights(rows, sink);
      std::vector<Watching> watching = look(rows);
      if (!order_.wait(index)) return;
      for (Watching& each : watching) each.observer->merge(*each.state, rows);
      order_.done(index);
    });
  }

 private:
  // The observed blocks [first, end) belong to one head.
  struct HeadBlocks {
    std::int64_t batch;
    std::int64_t head;
    RowSpan rows;
    std::int64_t first;
    std::int64_t end;
  };

  // The blocks of each head that at least one observer needs.
  std::vector<HeadBlocks> needed() const {
    std::vector<HeadBlocks> heads;
    std::int64_t count = 0;
    for (std::int64_t b = 0; b < problem_.batch; ++b)
      for (std::int64_t h = 0; h < problem_.heads; ++h) {
        const RowSpan rows = rows_needed(b, h);
        if (rows.begin >= rows.end) continue;
        const std::int64_t first = count;
        count += (rows.end - 1) / kMaskRows - rows.begin / kMaskRows + 1;
        heads.push_back({b, h, rows, first, count});
      }
    return heads;
  }

  RowSpan rows_needed(std::int64_t batch, std::int64_t head) const {
    RowSpan all = {INT64_MAX, 0};
    for (const Observer* observer : observers_) {
      const RowSpan rows = observer->rows_needed(batch, head);
      if (rows.begin >= rows.end) continue;
      all = {std::min(all.begin, rows.begin), std::max(all.end, rows.end)};
    }
    return {std::max<std::int64_t>(all.begin, 0),
            std::min(all.end, problem_.sequences[batch].query_length)};
  }

  kernels::LogSum lse_at(const ObservedRows& rows, std::int64_t i) const {
    const std::int64_t at = kernels::lse_index(problem_, rows.batch, rows.head, i);
    const kernels::AttentionBackward given = {.lse = lse_.high.raw(), .lse_low = lse_.low.raw()};
    return lse_.high.dtype() == DType::kF64 ? kernels::lse_of<double>(given, at)
                                            : kernels::lse_of<float>(given, at);
  }

  const double* sink_weights(const ObservedRows& rows, SinkWeights& weights) const {
    const double sink = problem_.score.sink[rows.head];
    for (std::int64_t i = rows.row_begin; i < rows.row_end; ++i)
      weights[static_cast<std::size_t>(i - rows.row_begin)] = std::exp(lse_at(rows, i).below(sink));
    return weights.data();
  }

  ObservedRows block(const HeadBlocks& of, std::int64_t index) const {
    const std::int64_t row = (of.rows.begin / kMaskRows + index - of.first) * kMaskRows;
    const kernels::Sequence& sequence = problem_.sequences[of.batch];
    return {.batch = of.batch,
            .head = of.head,
            .row_begin = std::max(row, of.rows.begin),
            .row_end = std::min(row + kMaskRows, of.rows.end),
            .key_length = sequence.key_length,
            .q_offset = sequence.q_offset,
            .key_offset = sequence.key_offset};
  }

  // The parts of a tile that at least one observer reads.
  static kernels::WantedOfTile wanted_of(const std::vector<Watching>& watching,
                                         const ObservedRows& rows, std::int64_t begin,
                                         std::int64_t end) {
    kernels::WantedOfTile wanted;
    for (const Watching& each : watching) {
      if (!each.observer->needs(rows, begin, end)) continue;
      const TileParts& parts = each.parts;
      wanted = {.any = true,
                .log_weights = wanted.log_weights || parts.log_weights,
                .scores = wanted.scores || parts.scores,
                .before_mask = wanted.before_mask || parts.before_mask,
                .value_norms = wanted.value_norms || parts.value_norms};
    }
    return wanted;
  }

  std::vector<Watching> look(const ObservedRows& rows) const {
    std::vector<Watching> watching;
    for (Observer* observer : observers_)
      if (observer->needs(rows))
        watching.push_back({observer, observer->parts(), observer->rows(rows)});
    if (watching.empty()) return watching;
    const auto wants = [&](std::int64_t begin, std::int64_t end) {
      return wanted_of(watching, rows, begin, end);
    };
    const auto use = [&](const kernels::WeightTile& tile) {
      for (Watching& each : watching)
        if ((!tile.empty || each.parts.before_mask) &&
            each.observer->needs(rows, tile.key_begin, tile.key_end))
          each.observer->tile(*each.state, rows, observed(tile));
    };
    kernels::sweep_weights(
        problem_,
        {rows.batch, rows.head, rows.row_begin, rows.row_end, lse_.high.raw(), lse_.low.raw()},
        wants, use);
    return watching;
  }

  const kernels::AttentionProblem& problem_;
  const GivenLse& lse_;
  std::span<Observer* const> observers_;
  InOrder order_;
};

}  // namespace

RowSpan Observer::rows_needed(std::int64_t, std::int64_t) const { return kEveryRow; }
bool Observer::needs(const ObservedRows&) const { return true; }
bool Observer::needs(const ObservedRows&, std::int64_t, std::int64_t) const { return true; }

void observe(const AttentionArgs& args, const AttendedConstView& attended,
             std::span<Observer* const> observers) {
  CheckedAttention checked(args);
  require_inputs("observe", args);
  GivenLse lse("observe", args, attended);
  widen_after_reference(args, checked.problem, lse);
  const kernels::AttentionProblem& problem = checked.problem;
  for (std::size_t index = 0; index < observers.size(); ++index)
    if (observers[index] == nullptr) fail("observe", fmt::format("observers[{}]", index), {}, {});
  for (Observer* observer : observers)
    observer->begin({problem.batch, problem.heads, problem.query_length, problem.key_length,
                     args.scores.normaliser});
  Sweep(problem, lse, observers).run();
  for (Observer* observer : observers) observer->finish();
}

void observe(const AttentionArgs& args, const Attended& attended,
             std::span<Observer* const> observers) {
  observe(args, AttendedConstView{attended.out, attended.lse, attended.lse_low}, observers);
}

}  // namespace heed
