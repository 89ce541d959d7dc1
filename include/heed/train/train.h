// A training run in a folder: starts, reports, survives.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "heed/ranks/ranks.h"

namespace heed {

/// Read from a JSON object whose keys are the members' names; docs/training.md tells each.
struct TrainConfig {
  std::string task = "lm";           // or "mlm", "seq2seq", "classify"
  std::vector<std::string> data;     // text files, or folders whose *.txt are taken in sorted order
  std::vector<std::string> targets;  // seq2seq: files with a line for each line of data
  std::string generate;              // in place of data: a task whose examples heed makes
  std::int64_t generate_length = 0;  // of those; 0: as usual for them
  double mask_share = 0.15;          // mlm: tokens that are asked for
  double pairs = 0;                  // mlm: share of the examples that are two texts
  bool whole_words = false;          // mlm: the tokens of a word are asked for together
  std::string label = "token";       // classify: what a label is for, "token" or "text"
  std::int64_t stories = 0;          // that heed makes, for the training part beside data
  bool rejoin_lines = false;         // wrapped lines become one line a paragraph
  bool add_bos_token = false;        // lm: each sequence begins with the tokenizer's first token
  double validation = 0.1;           // the last part of each file; 0: none
  std::vector<std::string> validation_data;  // files in place of that part
  std::string tokenizer = "characters";      // or "byte-bpe", "word-piece", a tokenizer's file
  std::string target_tokenizer;              // seq2seq: of the targets; "": one for both
  std::int64_t vocabulary = 4096;            // of a byte-bpe or word-piece

  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t width = 128;
  std::int64_t block = 64;                   // positions: tokens that the model sees at once
  double dropout = 0;                        // on embeddings and residuals
  double attention_dropout = 0;              // of attention weights
  std::string start_from;                    // a model's folder or name: its weights; "": random
  std::string initial_positions = "random";  // what the table begins as: "sinusoidal", "zero"
  std::string model = "{}";        // a JSON object: further entries of the model's config.json
  std::string dtype = "f32";       // of the model that is written: f32, f16 or bf16
  std::string precision = "f32";   // of products: f32 or bf16; weights and sums are f32
  std::string recompute = "none";  // activations that backward makes again: "attention", "block"

  std::int64_t steps = 2000;
  std::int64_t epochs = 0;      // each example once in each, in place of steps; 0: drawn at random
  std::int64_t batch = 12;      // sequences in one pass
  std::int64_t accumulate = 1;  // passes in one step; the gradient is their mean
  double repeats = 0;           // share of the sequences that repeat themselves
  double random_repeats = 0;    // and of those of random tokens that do
  double label_smoothing = 0;   // share of each target that all classes have alike
  std::string schedule = "cosine";    // or "linear", "inverse-sqrt", "constant"
  double learning_rate = 1e-3;        // after the warm-up
  double final_learning_rate = 1e-4;  // what the schedule comes down to at the last step
  std::int64_t warmup = 100;
  std::int64_t decay = 0;     // constant and inverse-sqrt: last steps, in which the rate falls
  std::string groups = "[]";  // a JSON list: parameters with a learning rate or decay of their own
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  // on matrices; not on biases and norms
  double clip = 1;            // largest norm of the whole gradient; 0: no limit
  std::int64_t seed = 1337;

  std::int64_t evaluate_every = 250;  // steps
  /// In one evaluation, spread evenly over the validation part; 0: all of it.
  std::int64_t evaluate_sequences = 240;
  std::int64_t patience = 0;  // evaluations without a better loss that end the run; 0: none does
  std::int64_t checkpoint_every = 250;
  std::int64_t sample_every = 0;  // steps between samples of what the model writes; 0: none
  std::string sample_prompt;      // what they begin with; empty: the model's first token
  std::string about;              // free text for the model's card
};

/// One key of the configuration: its name, its place, and what `heed train --help` says.
struct TrainKey {
  using Member =
      std::variant<bool TrainConfig::*, std::int64_t TrainConfig::*, double TrainConfig::*,
                   std::string TrainConfig::*, std::vector<std::string> TrainConfig::*>;
  std::string_view name;
  Member member;
  std::string_view summary;
  bool decides_losses = true;  // a resumed run may not change it
};

std::span<const TrainKey> train_keys();

/// What other programs call the key: `lr`, `block_size`.
std::vector<std::string_view> names_elsewhere(const TrainKey& key);

/// `origin` names the text in errors (a file). Keys that are absent keep their default; an unknown
/// key is an error that names the nearest known one. Checked wholly (`check`).
TrainConfig parse_train_config(std::string_view json, std::string_view origin);

/// Every key, in order; `parse_train_config` reads it back to the same.
std::string to_json(const TrainConfig& config);

/// Whether this value of `tokenizer` learns pieces, `vocabulary` of them.
bool learns_pieces(std::string_view tokenizer);

/// Ranges, and what keys mean together; errors name the key.
void check(const TrainConfig& config);

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
