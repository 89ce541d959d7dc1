#include "inspect/session/live_session.h"

#include <malloc.h>

#include <utility>

#include "heed/tensor/memory.h"

namespace heed::server {
namespace {

constexpr std::int64_t kNextWords = 16;
constexpr std::int64_t kKeptLogits = std::int64_t{1} << 24;  // 64 MB while the pass runs

// The pass and the sweeps free large pieces, which tensors and glibc would keep for the next ones.
void return_memory() {
  free_kept_blocks();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// The words after each position whose logits there are.
std::vector<NextWords> words_after(Session& session) {
  std::vector<NextWords> words;
  if (!session.logits.given()) return words;
  Tensor logits = std::move(session.logits);
  for (std::int64_t row = 0; row < logits.dim(0); ++row) {
    session.logits = Tensor::copy_of(logits.view().slice(0, row, row + 1));
    words.push_back(next_words(session, kNextWords));
  }
  session.logits = {};
  return words;
}

}  // namespace

LiveSession::LiveSession(std::string name, std::string content, Session session)
    : id(std::move(name)), text(std::move(content)), session_(std::move(session)) {
  progress_.layers.resize(static_cast<std::size_t>(session_.info.layers));
}

template <typename Change>
void LiveSession::change(Change change) {
  {
    const std::scoped_lock lock(guard_);
    change(progress_);
    ++progress_.version;
  }
  changed_.notify_all();
}

LiveSession::Progress LiveSession::progress() const {
  const std::scoped_lock lock(guard_);
  return progress_;
}

LiveSession::Progress LiveSession::wait(std::int64_t seen, std::chrono::milliseconds time) const {
  std::unique_lock lock(guard_);
  changed_.wait_for(lock, time, [&] { return progress_.version != seen; });
  return progress_;
}

bool LiveSession::pass_ended() const {
  const std::scoped_lock lock(guard_);
  return progress_.ready || progress_.failed;
}

void LiveSession::require_ready() const {
  const std::scoped_lock lock(guard_);
  if (progress_.failed) throw Refused(*progress_.failed);
  if (!progress_.ready)
    refuse(409, "not_ready", "the pass of session {} has not ended: wait for the event next", id);
}

const LayerAttention& LiveSession::layer(int index) const {
  require_ready();
  return session_.layers.at(static_cast<std::size_t>(index));
}

const NextWords& LiveSession::next(std::int64_t position) const {
  require_ready();
  static const NextWords kNone;
  if (next_.empty()) return kNone;
  const auto kept = static_cast<std::int64_t>(next_.size());
  if (!keeps_next(position))
    refuse(404, "not_found", "next: only the words after the last position, {}, are kept",
           length() - 1);
  return next_[static_cast<std::size_t>(kept == length() ? position : 0)];
}

bool LiveSession::keeps_next(std::int64_t position) const {
  require_ready();
  return position == length() - 1 || std::ssize(next_) == length();
}

std::string LiveSession::head_name(int layer, std::int64_t head) const {
  return fmt::format("{}-{}-{}", id, layer, head);
}

bool LiveSession::work(const LoadedModel& model, const std::function<bool()>& stop,
                       Overviews& overviews) {
  const auto stopped = [&] { return stop() || dropped.load(std::memory_order_relaxed); };
  if (stopped()) return false;
  try {
    if (!pass_ended()) {
      run_pass(model, stopped);
      return true;
    }
    const int index = next_layer();
    if (index < 0) {
      return_memory();
      return false;
    }
    score_layer(index, stopped, overviews);
    return true;
  } catch (...) {
    change([&](Progress& progress) {
      progress.ready = false;
      progress.failed = api_error(std::current_exception());
    });
    return false;
  }
}

void LiveSession::run_pass(const LoadedModel& model, const std::function<bool()>& stop) {
  const bool all_words = length() * session_.info.vocabulary <= kKeptLogits;
  run_session(session_, model, {.all_logits = all_words, .hidden = false, .stop = stop});
  next_ = words_after(session_);
  return_memory();
  change([](Progress& progress) { progress.ready = true; });
}

void LiveSession::score_layer(int index, const std::function<bool()>& stop, Overviews& overviews) {
  const auto at = static_cast<std::size_t>(index);
  const auto check = [&] {
    if (stop()) fail(ErrorCode::kInterrupted, "statistics: stopped");
  };
  const auto keep = [&](std::int64_t head, Overview overview) {
    const auto kept = std::make_shared<const Overview>(std::move(overview));
    overviews.keep(head_name(index, head), kept, kept->bytes());
  };
  auto heads = std::make_shared<const std::vector<HeadStatistics>>(
      layer_statistics(session_.layers[at], index, check, keep));
  change([&](Progress& progress) {
    progress.layers[at] = heads;
    progress.order.push_back(index);
    if (std::ssize(progress.order) < session_.info.layers) return;
    std::vector<HeadScores> scores;
    for (const LayerHeads& layer : progress.layers)
      for (const HeadStatistics& head : *layer) scores.push_back(head.scores);
    progress.chosen = choose_head(session_, scores, {}, {});
  });
}

// The layer in view, else the first that is missing; -1 when none is.
int LiveSession::next_layer() const {
  const std::scoped_lock lock(guard_);
  if (progress_.failed) return -1;
  const auto missing = [&](int index) {
    return !progress_.layers[static_cast<std::size_t>(index)];
  };
  const int in_view = layer_in_view.load(std::memory_order_relaxed);
  if (missing(in_view)) return in_view;
  for (int index = 0; index < static_cast<int>(progress_.layers.size()); ++index)
    if (missing(index)) return index;
  return -1;
}

}  // namespace heed::server
