// Which parts wrote the query and the key of a cell, and the effect of its value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heed/session.h"
#include "inspect/evidence/model_streams.h"
#include "inspect/evidence/why.h"

namespace heed {

/// The score, before soft cap and bias, as a sum over the writers of the query and of the key.
struct Origins {
  std::vector<std::string> query_parts = {}, key_parts = {};
  std::vector<std::vector<double>> cells = {};  // [query part][key part]
  double number = 0;                            // the sum of the cells
  double sum = 0;
  double residual = 0;
};

struct OriginsRequest {
  Place place;
  std::int64_t query = 0, key = 0;
  Against against = Against::kMean;
  std::optional<std::string> split = {};  // "attn 1": separated by head
};

/// All norms are held fixed with this text's statistics.
Origins origins(const Session& session, const LoadedModel& model, const Writes& writes,
                const OriginsRequest& request);

/// The stream rows that `origins` reads.
StreamRows rows_for(const Session& session, const OriginsRequest& request);

/// The input rows [N, C] of an attention: from its queries' stream, or from its keys'.
Tensor attention_input(const Session& session, const Writes& writes, const ModelParts& parts,
                       const Place& place, std::vector<std::int64_t> rows, bool of_keys);
/// A head's part [N, D] of the projections of rows [N, C], without their shifts.
Tensor query_projection(const Attention& attention, int head, const Tensor& x);
Tensor key_projection(const Attention& attention, int kv_head, const Tensor& x);

struct ChangedWord {
  TokenId id = 0;
  std::string bytes;
  double change = 0;  // of the logit, minus the mean over all words, which changes no probability
};

/// The effect of the key's value at the query: the head's write, and the words that it raised or
/// lowered on the direct path, with norms held fixed, before a soft cap.
struct Effect {
  double length = 0;       // of this value's write, including its weight
  double head_length = 0;  // of the whole head's write
  double cosine = 0;       // between the two
  std::vector<ChangedWord> raised = {}, lowered = {};
  std::string no_words = {};  // why there are none
};

Effect effect(const Session& session, const LoadedModel& model, const Writes& writes,
              const Place& place, std::int64_t query, std::int64_t key, std::int64_t top);

}  // namespace heed
