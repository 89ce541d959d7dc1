#include "train/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/machine.h"
#include "base/stop.h"
#include "heed/error.h"
#include "heed/threads.h"
#include "tensor/views.h"
#include "train/initial_weights.h"

namespace heed {
namespace {

std::optional<double> loss_of(const std::optional<Evaluation>& found) {
  return found ? std::optional(found->loss) : std::nullopt;
}

}  // namespace

Training::Training(const TrainArgs& args, const Peers& peers, const RunFolder* folder,
                   TrainListener& listener)
    : config_(args.config),
      stopped_(args.stopped),
      folder_(args.folder),
      peers_(peers),
      listener_(listener),
      task_(make_task(config_, args.batches)),
      model_(new_model(config_, task_->shape())),
      parameters_(model_->parameters()),
      optimizer_(parameters_, gradients_, adamw_of(config_, parameters_)),
      passes_(config_, *task_, *model_, parameters_, gradients_, peers) {
  if (folder != nullptr) files_.emplace(*folder, config_, *task_, *model_);
  state_.data_digest = task_->data().digest;
  state_.cpu = cpu_name();
  state_.threads = thread_count();
  state_.ranks = peers_.count();
  state_.config = to_json(args.config);
}

void Training::require_alike() const {
  const std::vector<std::uint64_t> data = peers_.gathered(state_.data_digest);
  for (std::size_t rank = 1; rank < data.size(); ++rank)
    if (data[rank] != data[0])
      peers_.together([&] {
        fail({.op = "train",
              .argument = "data",
              .found = fmt::format("another text on rank {} than on rank 0", rank)});
      });
}

// Copies parameters and moments, which rank 0 has read.
void Training::take_from_first() {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    for (Tensor* tensor :
         {&parameters_[i]->value, &optimizer_.moments()[i].first, &optimizer_.moments()[i].second})
      peers_.take_from_first(writable_bytes_of(*tensor));
}

void Training::go_on_from(const std::optional<RunFolder::Found>& found) {
  const std::string text = peers_.text_of_first(found ? to_json(found->state) : "");
  if (text.empty()) return;
  TrainState state;
  peers_.together([&] {
    state = parse_state(text, "checkpoint");
    if (state.data_digest != state_.data_digest)
      fail({.op = "train",
            .argument = "data",
            .found = "not what the run to resume was started with (its tokens differ)"});
    if (state.step > config_.steps)
      fail("train", "steps", config_.steps,
           fmt::format("at least {}, which the run has done", state.step));
    if (found) read_tensors(found->path, {parameters_, optimizer_});
  });
  take_from_first();
  tell_differences(state, state_, listener_);
  optimizer_.set_steps(state.step);
  saved_step_ = state.step;
  state.cpu = state_.cpu;
  state.threads = state_.threads;
  state.ranks = state_.ranks;
  state.config = state_.config;
  state_ = std::move(state);
  listener_.note(fmt::format("goes on after step {} ({})", state_.step, last_checkpoint()));
}

TrainResult Training::run() {
  peers_.together([&] {
    if (files_) files_->begin(state_);
  });
  session_begin_ = steady_seconds();
  earlier_seconds_ = state_.seconds;
  first_step_ = state_.step;
  while (!state_.recorded || !finished())
    if (!go_on()) stop();
  return finish();
}

std::int64_t Training::tokens_a_step() const {
  return config_.batch * task_->tokens_an_example() * config_.accumulate;
}

bool Training::finished() const {
  return state_.step >= config_.steps || (config_.patience > 0 && state_.stale >= config_.patience);
}

// Does a step and writes its row. False if the run was asked to stop, which may skip either.
bool Training::go_on() {
  bool left = false;
  try {
    if (state_.recorded) step();
    record();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInterrupted) throw;
    left = true;
  }
  return !peers_.any(left || listener_.stop());
}

template <typename Work>
auto Training::leavable(const Work& work) const {
  std::optional<StopScope> scope;
  if (stopped_ != nullptr) scope.emplace(*stopped_);
  return work();
}

// Wrong data ends the run but loses no step before it.
void Training::prepare(std::int64_t examples) {
  try {
    task_->prepare(state_.step * examples, examples);
  } catch (const Error&) {
    if (saved_step_ != state_.step && state_.step > 0) save_checkpoint();
    throw;
  }
}

void Training::step() {
  prepare(config_.batch * config_.accumulate);
  const double begin = steady_seconds();
  const double loss = leavable([&] { return passes_.loss_and_gradients(state_.step); });
  norm_ = optimizer_.gradient_norm();
  if (!std::isfinite(loss)) fail_not_finite("the loss", loss);
  if (!std::isfinite(norm_)) fail_not_finite("the gradient's norm", norm_);
  const bool clips = config_.clip > 0 && norm_ > config_.clip;
  const double rate = learning_rate(schedule_of(config_), state_.step);
  optimizer_.step(rate, clips ? config_.clip / norm_ : 1);
  ++state_.step;
  state_.loss = loss;
  state_.recorded = false;
  peers_.together([&] {
    if (files_) files_->append_norms(state_.step, optimizer_.gradient_squares());
  });
  step_seconds_ += steady_seconds() - begin;
}

void Training::record() {
  const double rate = learning_rate(schedule_of(config_), state_.step - 1);
  std::optional<Evaluation> validation;
  if (state_.step % config_.evaluate_every == 0 || state_.step == config_.steps)
    validation = evaluate();
  write_row(rate, validation);
  if (state_.step % config_.checkpoint_every == 0 || finished()) save_checkpoint();
  report(rate, validation);
  if (config_.sample_every > 0 && state_.step % config_.sample_every == 0)
    peers_.together([&] {
      if (files_) listener_.note(leavable([&] { return files_->add_sample(state_.step); }));
    });
}

void Training::write_row(double rate, const std::optional<Evaluation>& validation) {
  state_.seconds = earlier_seconds_ + steady_seconds() - session_begin_;
  peers_.together([&] {
    if (files_)
      files_->append({.step = state_.step,
                      .train_loss = state_.loss,
                      .validation_loss = loss_of(validation),
                      .learning_rate = rate,
                      .tokens = state_.step * tokens_a_step(),
                      .seconds = state_.seconds,
                      .accuracy = accuracy_of(validation)});
  });
  state_.recorded = true;
}

std::optional<double> Training::accuracy_of(const std::optional<Evaluation>& found) const {
  return found && task_->has_accuracy() ? std::optional(found->accuracy) : std::nullopt;
}

std::optional<Evaluation> Training::evaluate() {
  const std::optional<Evaluation> found = leavable([&] { return passes_.evaluate(); });
  if (!found) return found;
  if (!std::isfinite(found->loss)) fail_not_finite("the validation loss", found->loss);
  state_.validation_loss = found->loss;
  ++state_.stale;
  if (!state_.best_loss || found->loss < *state_.best_loss) {
    state_.best_loss = found->loss;
    state_.best_accuracy = accuracy_of(found);
    state_.best_step = state_.step;
    state_.stale = 0;
    peers_.together([&] {
      if (files_) files_->save_best_model();
    });
  }
  return found;
}

// Processes on CPUs that compute differently would drift apart.
double Training::require_good_weights() const {
  double sum = 0;
  for (const Parameter* parameter : parameters_) sum += sum_of_squares(parameter->value);
  if (!std::isfinite(sum)) fail_not_finite("a weight", NAN);
  return sum;
}

void Training::save_checkpoint() {
  const std::vector<double> sums = peers_.gathered(require_good_weights());
  const auto other = std::ranges::find_if(sums, [&](double sum) { return sum != sums[0]; });
  peers_.together([&] {
    if (other != sums.end())
      fail({.code = ErrorCode::kFailed,
            .op = "train",
            .found =
                fmt::format("the weights of rank {} are no longer those of rank 0 after step {}",
                            other - sums.begin(), state_.step),
            .hint = "ranks on CPUs of different kinds need the same HEED_ISA, as avx2"});
    if (files_) files_->save_checkpoint(state_, {parameters_, optimizer_});
  });
  saved_step_ = state_.step;
}

void Training::report(double rate, const std::optional<Evaluation>& validation) {
  const auto done = static_cast<double>(std::max<std::int64_t>(state_.step - first_step_, 1));
  const double each = (steady_seconds() - session_begin_) / done;
  listener_.stepped({.step = state_.step,
                     .steps = config_.steps,
                     .loss = state_.loss,
                     .learning_rate = rate,
                     .gradient_norm = norm_,
                     .tokens_per_second = tokens_per_second(),
                     .seconds_left = each * static_cast<double>(config_.steps - state_.step),
                     .validation_loss = loss_of(validation),
                     .accuracy = accuracy_of(validation),
                     .save_model = [this](const auto& folder) { files_->save(folder); }});
}

double Training::tokens_per_second() const {
  if (step_seconds_ == 0 && state_.seconds > 0)  // a resumed run that has only recorded so far
    return static_cast<double>(state_.step * tokens_a_step()) / state_.seconds;
  const auto tokens = static_cast<double>((state_.step - first_step_) * tokens_a_step());
  return step_seconds_ > 0 ? tokens / step_seconds_ : 0;
}

std::string Training::last_checkpoint() const {
  return saved_step_ < 0 ? "none" : checkpoint_path(folder_, saved_step_).string();
}

// All processes see the same numbers, so all of them get here.
void Training::fail_not_finite(std::string_view what, double value) const {
  if (!peers_.is_first()) throw AnotherRankFailed();
  heed::fail_not_finite({what, value, state_.step + 1, last_checkpoint()}, parameters_, gradients_);
}

void Training::stop() {
  if (saved_step_ != state_.step) save_checkpoint();
  if (!peers_.is_first()) throw AnotherRankFailed();
  fail({.code = ErrorCode::kInterrupted,
        .op = "train",
        .found = fmt::format("stopped after step {}", state_.step),
        .hint = last_checkpoint() + " is kept (resume goes on)"});
}

TrainResult Training::finish() {
  if (state_.step < config_.steps)
    listener_.note(fmt::format("ends after step {}: {} evaluations without a better loss",
                               state_.step, state_.stale));
  TrainResult result{.steps = state_.step,
                     .tokens = state_.step * tokens_a_step(),
                     .loss = state_.loss,
                     .validation_loss = state_.validation_loss,
                     .best_loss = state_.best_loss,
                     .accuracy = state_.best_accuracy,
                     .best_step = state_.best_step,
                     .seconds = state_.seconds,
                     .tokens_per_second = tokens_per_second(),
                     .model = folder_ / "model"};
  peers_.together([&] {
    if (!files_) return;
    if (!state_.best_loss) files_->save_best_model();
    files_->write_card(result);
  });
  return result;
}

}  // namespace heed
