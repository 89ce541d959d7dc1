// One head step by step, for a few rows: what it reads, Q, K, V, and what makes scores of them.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/inspect/session.h"
#include "inspect/evidence/model_streams.h"

namespace heed {

using Numbers = std::vector<std::vector<float>>;

/// Rows of a window. The steps after Q, K and V are the reader's to compute, with other settings
/// where these are tried.
struct Anatomy {
  Place place;
  int kv_head = 0;
  std::int64_t query_begin = 0, key_begin = 0;
  Numbers x = {};      // what the queries' projection reads; empty where no model is at hand
  Numbers key_x = {};  // the keys', where these are other tokens
  Numbers q = {}, k = {}, v = {};
  std::vector<std::vector<int>> visible = {};  // [query][key]: 1 or 0
  Numbers bias = {};                           // of the scores; empty: none
  double scale = 1, softcap = 0;
  std::vector<float> lse = {};  // of each row, over all keys of the text
  bool turned = false;          // Q and K are turned by position
  Numbers up = {};              // [Dv][C]: the head's part of the output projection
  Numbers form = {};            // [C][C]: W_q^T W_k, of models up to 128 wide
};

inline constexpr std::int64_t kAnatomyRows = 16;

/// Queries [query, query + kAnatomyRows) and keys [key, key + kAnatomyRows), as far as they exist.
Anatomy anatomy(const Session& session, const LoadedModel* model, const Place& place,
                std::int64_t query_begin, std::int64_t key_begin);

}  // namespace heed
