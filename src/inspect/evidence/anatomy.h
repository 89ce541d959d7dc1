// One head step by step, for a few rows: its input, Q, K, V, and everything that enters the scores.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/session.h"
#include "inspect/evidence/model_streams.h"

namespace heed {

using Numbers = std::vector<std::vector<float>>;

/// A window of rows. The client computes the steps after Q, K and V, so that it can try other
/// settings.
struct Anatomy {
  Place place;
  int kv_head = 0;
  std::int64_t query_begin = 0, key_begin = 0;
  Numbers x = {};      // input of the queries' projection; empty without a model
  Numbers key_x = {};  // the keys' input, if they are other tokens or of another layer
  Numbers q = {}, k = {}, v = {};
  std::vector<std::vector<int>> visible = {};  // [query][key]: 1 or 0
  Numbers bias = {};                           // added to scores; empty: none
  double scale = 1, softcap = 0;
  std::vector<float> lse = {};  // per row, over all keys of the text
  bool turned = false;          // Q and K are rotated by position
  Numbers gates = {};           // [query][Dv]: what multiplies the outputs; empty: no gates
  Numbers up = {};              // [Dv][C]: the head's part of the output projection
  Numbers form = {};            // [C][C]: W_q^T W_k, for models up to 128 wide
};

inline constexpr std::int64_t kAnatomyRows = 16;

/// Queries [query, query + kAnatomyRows) and keys [key, key + kAnatomyRows), as far as they exist.
Anatomy anatomy(const Session& session, const LoadedModel* model, const Place& place,
                std::int64_t query_begin, std::int64_t key_begin);

}  // namespace heed
