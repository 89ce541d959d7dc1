// Times a decoder: reading a prompt, and generating token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heed/model.h"

namespace heed {

/// Prefill: a text of `tokens` tokens at once, with the logits of the last one. Otherwise: one
/// token after `tokens` in the cache, the mean of up to 32 consecutive ones.
struct ModelBenchCase {
  std::string name = {};
  bool prefill = true;
  std::int64_t tokens = 0;
};

/// prefill-N for N in 128, 512, 2,048 and step-N for N in 10, 250, 1,000, 4,000, as far as the
/// model's positions go; only those whose name is in `names`, unless it is empty. kNotFound for a
/// name that no case has.
std::vector<ModelBenchCase> model_bench_cases(const ModelInfo& info,
                                              const std::vector<std::string>& names = {});

struct ModelTiming {
  ModelBenchCase problem;
  int threads = 1;
  double seconds = 0;  // median: of the prompt, or of one token
  double spread = 0;   // of the middle half of the repetitions, relative to the median
  double fastest = 0;  // seconds, likewise
  double tokens_per_second = 0;
  double gbytes_per_second = 0;  // step: parameters and the cache's keys and values read
  double read_gbytes_per_second = 0;
};

/// Runs the cases in order on random ids. `done` receives each timing as it is ready.
void time_model(const Model& model, const std::vector<ModelBenchCase>& cases,
                const std::function<void(const ModelTiming&)>& done);

}  // namespace heed
