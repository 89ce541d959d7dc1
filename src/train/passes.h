// Passes of a task's examples through a model: the loss and gradients of a step, and evaluations.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/models/model.h"
#include "heed/train/train.h"
#include "tensor/memory.h"
#include "train/gradient_shares.h"
#include "train/peers.h"
#include "train/task.h"

namespace heed {

/// Seconds of a clock that only goes forward.
double steady_seconds();

/// What an evaluation finds, over the answers that its examples ask for.
struct Evaluation {
  double loss = 0;      // mean, in nats, without smoothing
  double accuracy = 0;  // share whose likeliest answer is the right one
};

/// A step's rows are cut into one share a thread; a share goes through the model in pieces that the
/// caches hold. So a step has one barrier instead of one a layer, and the sums of gradients depend
/// on the number of threads, as those of products x^T dy do anyway. A batch with too few rows for
/// that goes through whole, each operator on all threads. Of several processes each has a part of
/// the rows.
class Passes {
 public:
  /// All must outlive it. Room for the gradients of the shares is made here.
  Passes(const TrainConfig& config, const Task& task, const Model& model,
         std::span<Parameter* const> parameters, Gradients& gradients, Peers peers = {});

  /// The loss of step `step` (from 0), the mean over all answers that it asks for; sets the
  /// gradients: of the whole step, on every process.
  double loss_and_gradients(std::int64_t step);
  /// Time that each share's forward and backward passes have taken so far, summed.
  struct Seconds {
    double forward = 0;  // with the loss
    double backward = 0;
  };
  Seconds seconds() const;
  std::int64_t shares() const { return gradients_.count(); }

  /// Over the same examples for validation each time; none where there are none. Does not depend on
  /// the number of threads and of processes.
  std::optional<Evaluation> evaluate();

 private:
  struct alignas(64) Share {  // what one thread notes, on a cache line of its own
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
  // Those of `pieces`, each of so many examples, that are this process's.
  void evaluate_own(std::span<Sums> pieces, std::int64_t piece, std::int64_t examples);
  Sums evaluate_rows(std::int64_t first, std::int64_t rows, std::int64_t examples,
                     ExampleBatch& batch) const;

  const TrainConfig& config_;
  const Task& task_;
  const Model& model_;
  std::span<Parameter* const> parameters_;
  Peers peers_;
  std::int64_t step_rows_;  // of all processes
  Peers::Part rows_;        // of this one
  GradientShares gradients_;
  std::int64_t piece_rows_;
  std::vector<ExampleBatch> batches_;  // one a thread
  std::vector<Share> shares_;
  double counted_ = 0;      // answers that the step asks for
  KeepBlocks keep_blocks_;  // a step of a long text frees hundreds of MB, the next one takes them
};

}  // namespace heed
