// Times steps of training.
#pragma once

#include <cstdint>

#include "heed/train.h"

namespace heed {

struct TrainTiming {
  int threads = 1;
  std::int64_t shares = 1;      // number of shares of a step's rows; 1: operators use the threads
  std::int64_t parameters = 0;  // of the model
  double seconds = 0;           // of a step, median
  double spread = 0;            // of the middle half of the steps, relative to the median
  double tokens_per_second = 0;
  // Means over the steps (and threads). The rest of a step is waiting for the slowest thread and
  // adding the threads' gradients.
  double forward_seconds = 0;
  double backward_seconds = 0;
  double optimizer_seconds = 0;  // norm, clipping, update
  double gflops = 0;             // of products and visible pairs of attention
  double peak_gflops = 0;        // f32 multiply-adds, measured after the steps
  double fraction_of_peak = 0;
  double allocations = 0;  // blocks that tensors took from the system per step
};

/// Trains a model of the configured shape on random tokens from a vocabulary of `vocabulary`;
/// neither reads nor writes files.
TrainTiming time_training(const TrainConfig& config, std::int64_t vocabulary);

}  // namespace heed
