// Next-token passes through a model: the loss and gradients of a step, the loss of an evaluation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/models/model.h"
#include "heed/train/config.h"
#include "train/crops.h"
#include "train/gradient_shares.h"
#include "train/text_data.h"

namespace heed {

/// The content of the config.json that the keys of the configuration and the tokenizer ask for.
/// `separator`: TextData's.
std::string model_config_json(const TrainConfig& config, std::int64_t vocabulary,
                              TokenId separator);

/// A step's rows are cut into one share a thread; a share goes through the model in pieces that the
/// caches hold. So a step has one barrier instead of one a layer, and the sums of gradients depend
/// on the number of threads, as those of products x^T dy do anyway. A batch with too few rows for
/// that goes through whole, each operator on all threads.
class LmPasses {
 public:
  /// All must outlive it. Room for the batches and for the gradients of the shares is made here.
  LmPasses(const TrainConfig& config, const TextData& data, const Model& model,
           std::span<Parameter* const> parameters, Gradients& gradients);

  /// The loss of step `step` (from 0), the mean over all its passes; sets the gradients.
  double loss_and_gradients(std::int64_t step);
  /// Time that each share's forward and backward passes have taken so far, summed.
  struct Seconds {
    double forward = 0;  // with the loss
    double backward = 0;
  };
  Seconds seconds() const;
  std::int64_t shares() const { return gradients_.count(); }

  /// Mean over the same crops of the validation part each time; none without such a part. Does not
  /// depend on the number of threads.
  std::optional<double> evaluate();

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

  void fill(CropBatch& batch, std::int64_t step, const Piece& piece) const;
  void share_of_step(std::int64_t step, std::int64_t index, CropBatch& batch);
  // The sum of the losses of its rows; adds to `gradients` and `seconds`.
  double forward_backward(std::int64_t step, const Piece& piece, CropBatch& batch,
                          Gradients& gradients, Seconds& seconds) const;
  double evaluate_rows(std::int64_t first, std::int64_t rows, std::int64_t crops,
                       CropBatch& batch) const;

  const TrainConfig& config_;
  const TextData& data_;
  const Model& model_;
  std::int64_t step_rows_;
  GradientShares gradients_;
  std::int64_t piece_rows_;
  std::vector<CropBatch> batches_;  // one a thread
  std::vector<Share> shares_;
};

}  // namespace heed
