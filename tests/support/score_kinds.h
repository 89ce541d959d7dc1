// Forms of scores, one feature each, for tests that hold for all of them.
#pragma once

#include <ostream>
#include <vector>

#include "heed/attention.h"

namespace heed::test {

struct ScoreKind {
  const char* name;
  Scores scores = {};
  Shape bias = {0};  // none
  bool alibi = false;
  bool sink = false;
  double dropout = 0;
  DType dtype = DType::kF32;
};

// GoogleTest finds it by this name.
inline void PrintTo(const ScoreKind& kind,
                    std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << kind.name;
}

/// With positions, except the plain one, because the fastest kernel has none.
inline std::vector<ScoreKind> score_kinds() {
  return {{.name = "Plain"},
          {.name = "Alibi", .alibi = true},
          {.name = "Cosine", .scores = {.similarity = Similarity::kCosine}, .alibi = true},
          {.name = "Gaussian", .scores = {.similarity = Similarity::kGaussian}, .alibi = true},
          {.name = "Absolute", .scores = {.similarity = Similarity::kAbsolute}, .alibi = true},
          {.name = "Softcap", .scores = {.softcap = 2}, .alibi = true},
          {.name = "Sigmoid", .scores = {.normaliser = Normaliser::kSigmoid}, .alibi = true},
          {.name = "None", .scores = {.normaliser = Normaliser::kNone}, .alibi = true},
          {.name = "Dropout", .alibi = true, .dropout = 0.3}};
}

}  // namespace heed::test
