#include "heed/train/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/cpu_name.h"
#include "base/stop.h"
#include "heed/base/error.h"
#include "heed/base/threads.h"
#include "heed/models/registry.h"
#include "io/atomic_file.h"
#include "tensor/dtype_named.h"
#include "train/card.h"
#include "train/checkpoint.h"
#include "train/initial_weights.h"
#include "train/loss_csv.h"
#include "train/loss_svg.h"
#include "train/not_finite.h"
#include "train/passes.h"
#include "train/run_folder.h"
#include "train/samples.h"
#include "train/schedule.h"
#include "train/task.h"

namespace heed {
namespace {

double now_seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

std::optional<double> loss_of(const std::optional<Evaluation>& found) {
  return found ? std::optional(found->loss) : std::nullopt;
}

// One run from its start, or its last checkpoint, to its end.
class Training {
 public:
  Training(const TrainArgs& args, const RunFolder& folder, TrainListener& listener)
      : config_(args.config),
        stopped_(args.stopped),
        folder_(folder),
        listener_(listener),
        task_(make_task(config_)),
        model_(new_model(config_, task_->shape())),
        parameters_(model_->parameters()),
        optimizer_(parameters_, gradients_,
                   {.beta1 = config_.beta1,
                    .beta2 = config_.beta2,
                    .epsilon = config_.epsilon,
                    .weight_decay = config_.weight_decay,
                    .rules = rules_of(parameters_, parse_parameter_groups(config_.groups))}),
        passes_(config_, *task_, *model_, parameters_, gradients_) {
    if (config_.sample_every > 0) samples_.emplace(folder.samples(), config_, *model_, *task_);
    state_.data_digest = task_->data().digest;
    state_.cpu = cpu_name();
    state_.threads = thread_count();
    state_.config = to_json(config_);
  }

  void go_on_from(const RunFolder::Found& found) {
    if (found.state.data_digest != state_.data_digest)
      fail({.op = "train",
            .argument = "data",
            .found = "not what the run to resume was started with (its tokens differ)"});
    tell_differences(found.state, state_, listener_);
    read_tensors(found.path, {parameters_, optimizer_});
    optimizer_.set_steps(found.state.step);
    saved_step_ = found.state.step;
    TrainState state = found.state;
    state.cpu = state_.cpu;
    state.threads = state_.threads;
    state.config = state_.config;
    state_ = std::move(state);
    listener_.note(fmt::format("goes on after step {} ({})", state_.step, found.path.string()));
  }

  TrainResult run() {
    LossCsv losses(folder_.losses(), state_.recorded ? state_.step : state_.step - 1,
                   task_->has_accuracy());
    session_begin_ = now_seconds();
    earlier_seconds_ = state_.seconds;
    first_step_ = state_.step;
    if (samples_) samples_->forget_after(state_.step);
    while (!state_.recorded || !finished())
      if (!go_on(losses)) stop(losses);
    return finish();
  }

 private:
  std::int64_t tokens_a_step() const {
    return config_.batch * task_->tokens_an_example() * config_.accumulate;
  }

  bool finished() const {
    return state_.step == config_.steps ||
           (config_.patience > 0 && state_.stale >= config_.patience);
  }

  // A step and its row. False where the run was asked to stop, which may leave either undone.
  bool go_on(LossCsv& losses) {
    try {
      if (state_.recorded) step();
      record(losses);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInterrupted) return false;
      throw;
    }
    return !listener_.stop();
  }

  // Work that changes nothing before its end: `stopped` leaves it where it stands.
  template <typename Work>
  auto leavable(const Work& work) const {
    std::optional<StopScope> scope;
    if (stopped_ != nullptr) scope.emplace(*stopped_);
    return work();
  }

  void step() {
    const double begin = now_seconds();
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
    step_seconds_ += now_seconds() - begin;
  }

  void record(LossCsv& losses) {
    const double rate = learning_rate(schedule_of(config_), state_.step - 1);
    std::optional<Evaluation> validation;
    if (state_.step % config_.evaluate_every == 0 || state_.step == config_.steps)
      validation = evaluate();
    state_.seconds = earlier_seconds_ + now_seconds() - session_begin_;
    losses.append({.step = state_.step,
                   .train_loss = state_.loss,
                   .validation_loss = loss_of(validation),
                   .learning_rate = rate,
                   .tokens = state_.step * tokens_a_step(),
                   .seconds = state_.seconds,
                   .accuracy = accuracy_of(validation)});
    state_.recorded = true;
    if (state_.step % config_.checkpoint_every == 0 || finished()) save_checkpoint(losses);
    report(rate, validation);
    if (samples_ && state_.step % config_.sample_every == 0)
      listener_.note(leavable([&] { return samples_->add(state_.step); }));
  }

  std::optional<double> accuracy_of(const std::optional<Evaluation>& found) const {
    return found && task_->has_accuracy() ? std::optional(found->accuracy) : std::nullopt;
  }

  std::optional<Evaluation> evaluate() {
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
      save(folder_.model());
    }
    return found;
  }

  void save(const std::filesystem::path& folder) const {
    save_model(folder, *model_, task_->data().tokenizer.get(), dtype_named(config_.dtype));
    if (const Tokenizer* target = task_->data().target_tokenizer.get())
      write_file(folder / "tokenizer_target.json", target->to_json());
  }

  // The losses go to the disk first: a checkpoint never speaks of rows that are lost.
  void save_checkpoint(LossCsv& losses) {
    for (const Parameter* parameter : parameters_)
      if (!all_finite(parameter->value)) fail_not_finite("a weight", NAN);
    losses.flush();
    write_checkpoint(checkpoint_path(folder_.path(), state_.step), state_,
                     {parameters_, optimizer_});
    saved_step_ = state_.step;
    folder_.remove_old_checkpoints();
    write_loss_svg(folder_.losses(), folder_.picture());
  }

  void report(double rate, const std::optional<Evaluation>& validation) {
    const auto done = static_cast<double>(std::max<std::int64_t>(state_.step - first_step_, 1));
    const double each = (now_seconds() - session_begin_) / done;
    listener_.stepped({.step = state_.step,
                       .steps = config_.steps,
                       .loss = state_.loss,
                       .learning_rate = rate,
                       .gradient_norm = norm_,
                       .tokens_per_second = tokens_per_second(),
                       .seconds_left = each * static_cast<double>(config_.steps - state_.step),
                       .validation_loss = loss_of(validation),
                       .accuracy = accuracy_of(validation),
                       .save_model = [this](const auto& folder) { save(folder); }});
  }

  double tokens_per_second() const {
    const auto tokens = static_cast<double>((state_.step - first_step_) * tokens_a_step());
    return step_seconds_ > 0 ? tokens / step_seconds_ : 0;
  }

  std::string last_checkpoint() const {
    return saved_step_ < 0 ? "none" : checkpoint_path(folder_.path(), saved_step_).string();
  }

  [[noreturn]] void fail_not_finite(std::string_view what, double value) const {
    heed::fail_not_finite({what, value, state_.step + 1, last_checkpoint()}, parameters_,
                          gradients_);
  }

  [[noreturn]] void stop(LossCsv& losses) {
    if (saved_step_ != state_.step) save_checkpoint(losses);
    fail({.code = ErrorCode::kInterrupted,
          .op = "train",
          .found = fmt::format("stopped after step {}", state_.step),
          .hint = last_checkpoint() + " is kept (resume goes on)"});
  }

  TrainResult finish() {
    if (!state_.best_loss) save(folder_.model());
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
                       .model = folder_.model()};
    write_file(folder_.model() / "card.md", to_markdown({config_, *task_, *model_, result}));
    return result;
  }

  const TrainConfig& config_;
  const std::atomic<bool>* stopped_;
  const RunFolder& folder_;
  TrainListener& listener_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Model> model_;
  std::vector<Parameter*> parameters_;
  Gradients gradients_;
  AdamW optimizer_;
  Passes passes_;
  std::optional<Samples> samples_;
  TrainState state_;
  std::int64_t saved_step_ = -1;  // of the last checkpoint, -1: none
  std::int64_t first_step_ = 0;   // of this session
  double norm_ = 0;               // of the last gradient
  double session_begin_ = 0;
  double earlier_seconds_ = 0;  // of the sessions before this one
  double step_seconds_ = 0;     // of this session, evaluations and checkpoints apart
};

}  // namespace

TrainResult train(const TrainArgs& args, TrainListener& listener) {
  check(args.config);
  const RunFolder folder(args.folder, args.resume);
  const auto found = folder.last_checkpoint(listener);
  if (found) {
    check_same_run(parse_train_config(found->state.config, found->path.string()), args.config);
  } else if (std::filesystem::exists(folder.config())) {
    check_same_run(stored_train_config(folder.path()), args.config);
    listener.note(
        "no checkpoint was written yet: starts from the beginning (another configuration "
        "needs another folder, or this one removed)");
  }
  if (args.config.warmup >= args.config.steps)
    listener.note(
        fmt::format("the learning rate only rises: warmup is {}, expected below steps, {}",
                    args.config.warmup, args.config.steps));
  Training training(args, folder, listener);
  write_file(folder.config(), to_json(args.config));
  if (found) training.go_on_from(*found);
  return training.run();
}

}  // namespace heed
