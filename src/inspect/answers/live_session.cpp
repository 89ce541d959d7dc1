#include "inspect/answers/live_session.h"

#include <fmt/format.h>

#include <utility>

#include "base/parallel.h"
#include "base/stop.h"
#include "heed/error.h"
#include "inspect/heads/scored_layer.h"
#include "inspect/session/places.h"
#include "inspect/session/session_memory.h"

namespace heed {
namespace {

constexpr std::int64_t kNextWords = 16;
constexpr std::int64_t kKeptLogits = std::int64_t{1} << 24;  // 64 MB while the pass runs

constexpr std::int64_t kKeptWrites = std::int64_t{1} << 27;   // 128 MB per session
constexpr std::int64_t kKeptCarried = std::int64_t{1} << 25;  // 32 MB per session

// What is kept beside the attentions; logits become words as soon as the pass has ended.
const SessionOptions kLiveOptions = {.streams = true};

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

std::int64_t session_bytes(const Session& session) {
  return kept_bytes(session, session.keep, kLiveOptions);
}

LiveSession::LiveSession(std::string name, SessionInput read, Session session,
                         const LoadedModel& model)
    : LiveSession(Unready(), std::move(name), std::move(read), std::move(session), &model) {}

LiveSession::LiveSession(std::string name, SessionInput read, Session session,
                         const LoadedModel* ran_by)
    : LiveSession(Unready(), std::move(name), std::move(read), std::move(session), ran_by) {
  keep_next();
}

LiveSession::LiveSession(Unready, std::string name, SessionInput read, Session session,
                         const LoadedModel* model)
    : id(std::move(name)),
      input(std::move(read)),
      session_(std::move(session)),
      model_(model),
      late_(session_, model),
      shapes_(session_.shapes()),
      carried_(kKeptCarried) {
  for (const StackShape& shape : shapes_)
    for (int layer = 0; layer < shape.layers; ++layer)
      places_.push_back({.stack = shape.stack, .layer = layer});
  progress_.layers.resize(places_.size());
  for (const Place& place : places_) kept_layers_ += keeps(place) ? 1 : 0;
}

void LiveSession::change(auto change) {
  {
    const std::scoped_lock lock(guard_);
    change(progress_);
    ++progress_.version;
  }
  changed_.notify_all();
}

std::size_t LiveSession::index_of(Stack stack, int layer) const {
  const StackShape& shape = find_stack("session", session_.model, shapes_, stack);
  check_layer("session", session_.model, shape, layer);
  std::size_t before = 0;
  for (const StackShape* one = shapes_.data(); one != &shape; ++one)
    before += static_cast<std::size_t>(one->layers);
  return before + static_cast<std::size_t>(layer);
}

bool LiveSession::keeps(const Place& place) const {
  return session_.keeps(find_stack("session", session_.model, shapes_, place.stack), place.layer);
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

const LayerAttention& LiveSession::layer(const Place& place) const {
  if (!progress().ready)
    fail({.code = ErrorCode::kFailed,
          .op = "session",
          .found = fmt::format("the pass of {} has not ended", id)});
  return session_.at(place);
}

std::shared_ptr<const LayerAttention> LiveSession::layer_as(Quantity quantity, const Place& place,
                                                            Cancel& cancel) const {
  const LayerAttention& own = layer(place);
  if (quantity == Quantity::kWeight) return {std::shared_ptr<const void>(), &own};
  const std::string name = fmt::format("{}-{}", stack_name(place.stack), place.layer);
  const auto lock = lock_unless(cancel, weighing_);
  if (auto kept = carried_.find(name)) return kept;
  const std::function<bool()> asked = [&] { return cancel.asked(); };
  const AskScope ask(asked);
  auto made = std::make_shared<const LayerAttention>(carried(own));
  const Tensor* const all[] = {&made->lse, &made->lse_low, &made->bias};
  std::int64_t bytes = 0;
  for (const Tensor* each : all) bytes += 4 * each->element_count();
  carried_.keep(name, made, bytes);
  return made;
}

const LoadedModel& LiveSession::require_model() const {
  if (model_ != nullptr) return *model_;
  fail({.code = ErrorCode::kUnsupported,
        .op = "session",
        .found = "there is no model to run again"});
}

std::shared_ptr<const Writes> LiveSession::writes(const StreamRows& rows) const {
  const std::scoped_lock lock(writing_);
  if (writes_) return writes_;
  const bool all = Writes::bytes_of_all(session_) <= kKeptWrites;
  auto made = std::make_shared<const Writes>(session_, require_model(), all ? StreamRows{} : rows,
                                             &dropped);
  if (all) writes_ = made;
  return made;
}

LayerHeads LiveSession::heads(Stack stack, int layer) const {
  return progress().layers.at(index_of(stack, layer));
}

std::vector<HeadScores> LiveSession::scores() const {
  static const std::vector<HeadStatistics> kNone;  // of a layer that was not kept
  std::vector<HeadScores> scores;
  for (const LayerHeads& layer : progress().layers)
    for (const HeadStatistics& head : layer ? *layer : kNone) scores.push_back(head.scores);
  return scores;
}

ChosenHead LiveSession::chosen(Stack stack, const ViewAddress& view) const {
  return head_for_view(session_, stack, view, {}, {}, [&] { return scores(); });
}

bool LiveSession::keeps_next(std::int64_t position) const {
  const std::int64_t length = std::ssize(session_.tokens);
  return position == length - 1 || std::ssize(next_) == length;
}

const NextWords& LiveSession::next(std::int64_t position) const {
  static const NextWords kNone;
  if (next_.empty()) return kNone;
  if (!keeps_next(position))
    fail(
        "next", "position", position,
        fmt::format("{}, the last: no other position's words are kept", session_.tokens.size() - 1),
        ErrorCode::kNotFound);
  return next_[next_.size() == 1 ? 0 : static_cast<std::size_t>(position)];
}

std::string LiveSession::head_name(const Place& place) const {
  return fmt::format("{}-{}-{}-{}", id, stack_name(place.stack), place.layer, place.head);
}

bool LiveSession::work(const std::function<bool()>& stop, Overviews& overviews) {
  const auto stopped = [&] { return stop() || dropped.load(std::memory_order_relaxed); };
  if (stopped()) return false;
  try {
    if (!pass_ended()) {
      run_pass(stopped);
      return true;
    }
    const std::optional<std::size_t> index = next_layer();
    if (!index) {
      return_memory();
      return false;
    }
    score_layer(*index, stopped, overviews);
    return true;
  } catch (...) {
    change([&](Progress& progress) {
      progress.ready = false;
      progress.failed = std::current_exception();
    });
    return false;
  }
}

void LiveSession::run_pass(const std::function<bool()>& stop) {
  SessionOptions options = kLiveOptions;
  options.all_logits = std::ssize(session_.tokens) * session_.info.vocabulary <= kKeptLogits;
  options.stop = stop;
  options.stopped = &dropped;
  options.memory = memory;
  // They are extra: a text that fits without them is read (413 otherwise).
  if (const std::optional<std::int64_t> free = memory_of(options))
    options.all_logits &= session_memory(session_, *model_, options).streamed() <= *free;
  run_session(session_, *model_, options);
  keep_next();
}

void LiveSession::keep_next() {
  next_ = words_after(session_);
  return_memory();
  change([](Progress& progress) { progress.ready = true; });
}

void LiveSession::score_layer(std::size_t index, const std::function<bool()>& stop,
                              Overviews& overviews) {
  const Place place = places_[index];
  const auto check = [&] {
    if (stop()) fail({.code = ErrorCode::kInterrupted, .op = "statistics", .found = "stopped"});
  };
  const auto keep = [&](std::int64_t head, Overview overview) {
    const auto kept = std::make_shared<const Overview>(std::move(overview));
    overviews.keep(head_name({place.stack, place.layer, static_cast<int>(head)}), kept,
                   kept->bytes());
  };
  const LayerAttention& layer = session_.at(place);
  const BackgroundScope background;
  std::vector<HeadStatistics> heads =
      layer_statistics(layer, place, scored_layer(session_, place.stack, place.layer), check, keep);
  for (HeadStatistics& head : heads) {
    check();
    score_sides(head.scores, layer, session_.split);
  }
  const auto kept = std::make_shared<const std::vector<HeadStatistics>>(std::move(heads));
  change([&](Progress& progress) {
    progress.layers[index] = kept;
    progress.order.push_back(index);
    progress.scored = progress.order.size() == kept_layers_;
  });
}

// The layer in view if it is missing, else the first missing layer.
std::optional<std::size_t> LiveSession::next_layer() const {
  const std::scoped_lock lock(guard_);
  if (progress_.failed) return {};
  const std::size_t first = in_view.load(std::memory_order_relaxed);
  const auto is_left = [&](std::size_t index) {
    return !progress_.layers[index] && keeps(places_[index]);
  };
  if (first < places_.size() && is_left(first)) return first;
  for (std::size_t index = 0; index < places_.size(); ++index)
    if (is_left(index)) return index;
  return {};
}

}  // namespace heed
