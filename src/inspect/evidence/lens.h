// The logit lens (nostalgebraist 2020): the words predicted at each depth of the residual stream,
// through the model's last norm and vocabulary layer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "heed/session.h"
#include "inspect/evidence/read_out.h"

namespace heed {

struct LensRequest {
  std::int64_t begin = 0;  // positions
  std::int64_t end = 0;
  bool every_block = false;             // also between attention and MLP
  std::optional<std::int64_t> at = {};  // the position where the answers' ranks are wanted
  std::int64_t answers = 3;             // the likeliest words of the last level, at `at`
};

struct LensCell {
  TokenId id = 0;                         // the level's first choice
  double probability = 0;                 // its probability
  std::optional<double> came = {};        // probability of the actual next word
  std::optional<std::int64_t> rank = {};  // its rank; empty after the last token
};

/// One depth of the stream.
struct LensLevel {
  TapKind kind = TapKind::kResidual;
  Stack stack = Stack::kSelf;
  int layer = -1;  // -1: the embedding
  std::vector<LensCell> cells = {};
  std::int64_t right = 0;  // positions whose first choice is the actual word
  std::int64_t of = 0;     // judged positions: all if that is quick, else the window's
  std::vector<std::int64_t> ranks = {};  // of the answers
  std::vector<double> chances = {};      // of the answers
};

struct Lens {
  std::int64_t begin = 0, end = 0;
  std::vector<LensLevel> levels = {};  // from the embedding upward
  std::vector<TokenId> answers = {};   // at `at`
  bool has_blocks = false;             // the stream between attention and MLP is kept
  bool judged_all = false;
};

/// `check` is called between pieces of work and may throw. kUnsupported without a vocabulary.
Lens lens(const Session& session, const LoadedModel& model, const LensRequest& request,
          const std::function<void()>& check);

}  // namespace heed
