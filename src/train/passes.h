// Runs a task's examples through a model: a step's loss and gradients, and evaluations.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/model.h"
#include "heed/tensor.h"
#include "heed/train.h"
#include "tensor/memory.h"
#include "train/peers.h"
#include "train/task.h"

namespace heed {

/// The number of shares for a step's rows: one per thread, or a single one if shares would idle
/// more than a quarter of the threads' time or need more than 1 GiB.
std::int64_t share_count(std::span<Parameter* const> parameters, std::int64_t rows);

/// The gradients of a step's rows, accumulated per thread and summed at the end.
class GradientShares {
 public:
  /// Share 0 is `whole` itself. Allocates all gradients, so that a step allocates none.
  GradientShares(std::span<Parameter* const> parameters, Gradients& whole, std::int64_t count);

  std::int64_t count() const { return static_cast<std::int64_t>(others_.size()) + 1; }
  Gradients& of(std::int64_t share);
  /// Adds the other shares to `whole`, in order.
  void add_up() const;

 private:
  struct Piece {  // of one parameter
    float* whole;
    std::int64_t begin;
    std::int64_t count;
    std::size_t parameter;
  };

  Gradients& whole_;
  std::vector<Gradients> others_;
  std::vector<std::vector<const float*>> values_;  // by share (from 1 on) and parameter
  std::vector<Piece> pieces_;
};

/// Seconds of a monotonic clock.
double steady_seconds();

/// The result of an evaluation, over all expected answers.
struct Evaluation {
  double loss = 0;      // mean, in nats, without smoothing
  double accuracy = 0;  // share whose likeliest answer is right
};

/// A step's rows are divided into one share per thread, and a share runs through the model in
/// pieces that fit in the caches. So a step has one barrier instead of one per layer, and sums of
/// gradients depend on the number of threads, like those of products x^T dy. A batch with too few
/// rows runs as a whole, with each operator on all threads. With several processes, each has a part
/// of the rows.
class Passes {
 public:
  /// All must outlive it. Allocates the gradients of the shares.
  Passes(const TrainConfig& config, const Task& task, const Model& model,
         std::span<Parameter* const> parameters, Gradients& gradients, Peers peers = {});

  /// The loss of step `step` (from 0), the mean over all its expected answers; sets the gradients
  /// of the whole step, on every process.
  double loss_and_gradients(std::int64_t step);
  /// Total time of each share's forward and backward passes so far.
  struct Seconds {
    double forward = 0;  // including the loss
    double backward = 0;
  };
  Seconds seconds() const;
  std::int64_t shares() const { return gradients_.count(); }

  /// Uses the same validation examples each time; empty if there are none. Does not depend on the
  /// number of threads and processes.
  std::optional<Evaluation> evaluate();

 private:
  struct alignas(64) Share {  // written by one thread, on a separate cache line
    double loss = 0;
    Seconds seconds;
  };
  struct Piece {  // rows of one pass
    std::int64_t pass = 0;
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
  };
  struct Sums {  // over answers
    double loss = 0;
    std::int64_t right = 0;
    std::int64_t counted = 0;
  };

  double own_loss_and_gradients(std::int64_t step);
  void fill(ExampleBatch& batch, std::int64_t step, const Piece& piece) const;
  void share_of_step(std::int64_t step, std::int64_t index, ExampleBatch& batch);
  // The sum of the losses of its answers; adds to `gradients` and `seconds`.
  double forward_backward(std::int64_t step, const Piece& piece, ExampleBatch& batch,
                          Gradients& gradients, Seconds& seconds) const;
  // Evaluates this process's part of `pieces`, each of this many examples.
  void evaluate_own(std::span<Sums> pieces, std::int64_t piece, std::int64_t examples);
  Sums evaluate_rows(std::int64_t first, std::int64_t rows, std::int64_t examples,
                     ExampleBatch& batch) const;

  const TrainConfig& config_;
  const Task& task_;
  const Model& model_;
  std::span<Parameter* const> parameters_;
  Peers peers_;
  std::int64_t step_rows_;  // over all processes
  Peers::Part rows_;        // of this process
  GradientShares gradients_;
  std::int64_t piece_rows_;
  std::vector<ExampleBatch> batches_;  // one per thread
  std::vector<Share> shares_;
  double counted_ = 0;      // the step's expected answers
  KeepBlocks keep_blocks_;  // a step on a long text frees hundreds of MB, which the next one needs
};

double sum_of_squares(const Tensor& tensor);  // not finite if an element is not

/// What ends a run whose numbers are no longer finite.
struct NotFinite {
  std::string_view what;  // "the loss"
  double value;
  std::int64_t step;
  std::string last_checkpoint;
};

/// Names the first tensor, a parameter or its gradient, that is not finite.
[[noreturn]] void fail_not_finite(const NotFinite& found, std::span<Parameter* const> parameters,
                                  const Gradients& gradients);

}  // namespace heed
