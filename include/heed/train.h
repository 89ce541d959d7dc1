// A training run in a folder: starts, reports, and resumes after a crash.
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

#include "heed/ranks.h"

namespace heed {

/// Read from a JSON object whose keys are the members' names; docs/training.md describes each.
struct TrainConfig {
  std::string task = "lm";           // or "mlm", "seq2seq", "classify"
  std::vector<std::string> data;     // text files, or folders whose *.txt are read in sorted order
  std::vector<std::string> targets;  // seq2seq: files with a line per line of data
  std::string generate;              // instead of data: a task whose examples heed generates
  std::int64_t generate_length = 0;  // length of those examples; 0: the task's default
  double mask_share = 0.15;          // mlm: share of tokens to predict
  double pairs = 0;                  // mlm: share of the examples that are two texts
  bool whole_words = false;          // mlm: all tokens of a word are masked together
  std::string label = "token";       // classify: what a label describes, "token" or "text"
  std::int64_t stories = 0;          // generated stories, added to the training part of data
  bool rejoin_lines = false;         // joins wrapped lines into one line per paragraph
  bool add_bos_token = false;        // lm: each sequence begins with the tokenizer's first token
  double validation = 0.1;           // the last part of each file; 0: none
  std::vector<std::string> validation_data;  // files to use instead of that part
  std::string tokenizer = "characters";      // or "byte-bpe", "word-piece", a tokenizer's file
  std::string target_tokenizer;              // seq2seq: for the targets; "": the same tokenizer
  std::int64_t vocabulary = 4096;            // size, for byte-bpe and word-piece

  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t width = 128;
  std::int64_t block = 64;                   // positions: tokens that the model sees at once
  double dropout = 0;                        // on embeddings and residuals
  double attention_dropout = 0;              // on attention weights
  std::string start_from;                    // a model's folder or name for its weights; "": random
  std::string initial_positions = "random";  // initial position table; or "sinusoidal", "zero"
  std::string model = "{}";        // a JSON object: further entries of the model's config.json
  std::string dtype = "f32";       // type of the saved model: f32, f16 or bf16
  std::string precision = "f32";   // type of products: f32 or bf16; weights and sums are f32
  std::string recompute = "none";  // activations that backward recomputes: "attention", "block"

  std::int64_t steps = 2000;
  std::int64_t epochs = 0;            // passes over all examples, instead of steps; 0: random draws
  std::int64_t batch = 12;            // sequences per pass
  std::int64_t accumulate = 1;        // passes per step; the gradient is their mean
  double repeats = 0;                 // share of the sequences that repeat themselves
  double random_repeats = 0;          // share of sequences that are repeated random tokens
  double label_smoothing = 0;         // share of each target spread evenly over all classes
  std::string schedule = "cosine";    // or "linear", "inverse-sqrt", "constant"
  double learning_rate = 1e-3;        // after the warm-up
  double final_learning_rate = 1e-4;  // the schedule's rate at the last step
  std::int64_t warmup = 100;
  std::int64_t decay = 0;     // constant and inverse-sqrt: length of the final decay in steps
  std::string groups = "[]";  // a JSON list: parameters with their own learning rate or decay
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  // on matrices; not on biases and norms
  double clip = 1;            // largest norm of the whole gradient; 0: no limit
  std::int64_t seed = 1337;

  std::int64_t evaluate_every = 250;  // in steps
  /// Sequences per evaluation, spread evenly over the validation part; 0: all of it.
  std::int64_t evaluate_sequences = 240;
  std::int64_t patience = 0;  // evaluations without a better loss before the run ends; 0: unlimited
  std::int64_t checkpoint_every = 250;
  std::int64_t sample_every = 0;  // steps between generated samples; 0: none
  std::string sample_prompt;      // prompt of the samples; empty: the model's first token
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

/// The key's names in other programs: `lr`, `block_size`.
std::vector<std::string_view> names_elsewhere(const TrainKey& key);

/// `origin` names the text in errors (a file). Absent keys keep their default; the error for an
/// unknown key names the nearest known one. The result has passed `check`.
TrainConfig parse_train_config(std::string_view json, std::string_view origin);

/// Every key, in order; `parse_train_config` restores the same configuration.
std::string to_json(const TrainConfig& config);

/// Whether this value of `tokenizer` trains a tokenizer, with `vocabulary` entries.
bool learns_pieces(std::string_view tokenizer);

/// Checks ranges and combinations of keys; errors name the key. With `batches` the caller gives the
/// examples as token ids.
void check(const TrainConfig& config, bool batches = false);

/// Reported after each step.
struct TrainProgress {
  std::int64_t step = 0;  // steps done
  std::int64_t steps = 0;
  double loss = 0;  // mean over the step's tokens, before the update, in nats
  double learning_rate = 0;
  double gradient_norm = 0;      // before clipping
  double tokens_per_second = 0;  // over this session's steps, without evaluations
  double seconds_left = 0;
  std::optional<double> validation_loss;  // if an evaluation followed this step
  std::optional<double> accuracy;         // then, for tasks with right answers: their share
  /// Writes the model as of this step into a folder; may be called only inside `stepped`.
  std::function<void(const std::filesystem::path&)> save_model = {};
};

/// Receives events on the training thread.
class TrainListener {
 public:
  virtual ~TrainListener() = default;
  virtual void stepped(const TrainProgress& progress) = 0;
  /// One line that the user should read ("goes on from step 500").
  virtual void note(std::string_view text) = 0;
  /// True: a checkpoint is written after this step and the run ends with kInterrupted.
  virtual bool stop() = 0;
};

/// Sequences of token ids, which may differ in length.
using TokenRows = std::vector<std::vector<std::int64_t>>;

/// The examples of task "lm", in place of text files. Each sequence has 2 to block + 1 ids; the
/// model predicts all but the first. The tokenizer is optional here: without one (and without
/// `start_from`) the key `vocabulary` says how many ids there are.
struct TokenBatches {
  /// Returns the `batch` sequences of the next pass; called on the training thread. A resumed run
  /// calls it for the passes that are done, too, and drops what it returns.
  std::function<TokenRows()> next;
  std::vector<TokenRows> validation;  // empty: no validation, the last model is the best
};

struct TrainArgs {
  TrainConfig config = {};
  std::filesystem::path folder = {};
  bool resume = false;  // continue from the folder's last checkpoint; without one, start anew
  /// Once true, the current step is abandoned and the run ends as after `stop`, with the checkpoint
  /// of the previous step.
  const std::atomic<bool>* stopped = nullptr;
  /// The processes that train together, each of which makes the same call to `train`; null: this
  /// process alone.
  Ranks* ranks = nullptr;
  const TokenBatches* batches = nullptr;  // in place of the keys that name texts
};

struct TrainResult {
  std::int64_t steps = 0;  // steps done: fewer than requested if patience ended the run
  std::int64_t tokens = 0;
  double loss = 0;                        // of the last step
  std::optional<double> validation_loss;  // of the last evaluation
  std::optional<double> best_loss;        // on the validation part
  std::optional<double> accuracy;         // there, for tasks with right answers
  std::int64_t best_step = 0;
  double seconds = 0;  // total over all sessions
  double tokens_per_second = 0;
  std::filesystem::path model;  // the folder of the best model (validation 0: the last)
};

/// Trains and writes into `folder`:
///   run.json                       the configuration
///   loss.csv, loss.svg             one row per step; the same as a picture
///   samples.txt                    what the model wrote on the way (sample_every)
///   checkpoint-<step>.safetensors  the last two: weights, moments and state in one file, which
///                                  appears whole or not at all
///   model/                         the best model so far as a Hugging Face folder; at the end
///   card.md
/// A run that was killed at any instant and is resumed (same CPU and thread count) follows the same
/// losses bit for bit; on another machine `note` reports the differences. Errors: kInvalidArgument
/// if the folder holds a run and resume is false (nothing is touched), or if the configuration
/// differs in a key that decides the losses; kIo if the system refuses to write (the last
/// checkpoint stays intact); kFailed if a number is not finite, with step, tensor and last
/// checkpoint; kInterrupted after `stop` or `stopped`; kInvalidArgument if the run would need more
/// memory than the machine has, with the key to blame.
///
/// With `ranks` a step's sequences are divided among the processes and their gradients are added in
/// rank order: losses equal those of one process within rounding, and have the same bits in every
/// run. Every rank reads the data; only rank 0 reads checkpoints, writes files and calls the
/// listener. An error ends the run on all ranks: one throws it, the others throw AnotherRankFailed.
TrainResult train(const TrainArgs& args, TrainListener& listener);

/// The configuration of the run in `folder`; kNotFound if it holds none.
TrainConfig stored_train_config(const std::filesystem::path& folder);

}  // namespace heed
