// A training run in a folder: starts, reports, survives.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include "heed/ranks/ranks.h"
#include "heed/train/config.h"

namespace heed {

/// After each step.
struct TrainProgress {
  std::int64_t step = 0;  // steps done
  std::int64_t steps = 0;
  double loss = 0;  // mean over the step's tokens, before the update, in nats
  double learning_rate = 0;
  double gradient_norm = 0;      // before clipping
  double tokens_per_second = 0;  // of this session's steps, evaluations apart
  double seconds_left = 0;
  std::optional<double> validation_loss;  // when this step was followed by an evaluation
  std::optional<double> accuracy;         // then, of tasks that have right answers: their share
  /// Writes the model as it is after this step into a folder; to be called inside `stepped` alone.
  std::function<void(const std::filesystem::path&)> save_model = {};
};

/// Hears what happens; called on the thread that trains.
class TrainListener {
 public:
  virtual ~TrainListener() = default;
  virtual void stepped(const TrainProgress& progress) = 0;
  /// One line that the user should read ("goes on from step 500").
  virtual void note(std::string_view text) = 0;
  /// True: after this step a checkpoint is written and the run ends with kInterrupted.
  virtual bool stop() = 0;
};

struct TrainArgs {
  TrainConfig config = {};
  std::filesystem::path folder = {};
  bool resume = false;  // go on from the folder's last checkpoint; without one, from the beginning
  /// Once true, the step that runs is left where it stands, and the run ends as after `stop`: with
  /// the checkpoint of the step before.
  const std::atomic<bool>* stopped = nullptr;
  /// The processes that train together, each of which calls `train` alike; null: this one alone.
  Ranks* ranks = nullptr;
};

struct TrainResult {
  std::int64_t steps = 0;  // done: fewer than asked for where patience ended
  std::int64_t tokens = 0;
  double loss = 0;                        // of the last step
  std::optional<double> validation_loss;  // the last
  std::optional<double> best_loss;        // on the validation part
  std::optional<double> accuracy;         // there, of tasks that have right answers
  std::int64_t best_step = 0;
  double seconds = 0;  // all sessions together
  double tokens_per_second = 0;
  std::filesystem::path model;  // the folder that holds the best model (validation 0: the last)
};

/// Trains and writes into `folder`:
///   run.json                       the configuration
///   loss.csv, loss.svg             a row a step; the same as a picture
///   samples.txt                    what the model wrote on the way (sample_every)
///   checkpoint-<step>.safetensors  the last two: weights, moments and state in one file, which
///                                  appears whole or not at all
///   model/                         the best model so far as a Hugging Face folder; at the end
///   card.md
/// A run that was killed at any instant and is resumed (same CPU and thread count) follows the same
/// losses bit for bit; on another machine `note` tells what differs. Errors: kInvalidArgument when
/// the folder holds a run and resume is false (nothing is touched), or when the configuration
/// differs in a key that decides the losses; kIo when the system refuses to write (the last
/// checkpoint stays whole); kFailed when a number is not finite, with step, tensor and last
/// checkpoint; kInterrupted after `stop` or `stopped`; kInvalidArgument where the run would take
/// more memory than the machine has, with the key to blame.
///
/// With `ranks` a step's sequences are divided among the processes and their gradients are added in
/// the order of ranks: losses are those of one process within rounding, and the same bits in every
/// run. Rank 0 alone reads checkpoints, writes, and is heard; each reads the data. What ends the
/// run ends it on all: one rank throws it, the others AnotherRankFailed.
TrainResult train(const TrainArgs& args, TrainListener& listener);

/// The configuration of the run that `folder` holds; kNotFound when it holds none.
TrainConfig stored_train_config(const std::filesystem::path& folder);

}  // namespace heed
