// Who wrote the query and the key of a cell, and what its value did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heed/inspect/look.h"
#include "inspect/evidence/model_streams.h"
#include "inspect/evidence/why.h"

namespace heed {

/// The score, before soft cap and bias, as a sum over who wrote the query and who wrote the key.
struct Origins {
  std::vector<std::string> query_parts = {}, key_parts = {};
  std::vector<std::vector<double>> cells = {};  // [query part][key part]
  double number = 0;                            // what they sum to
  double sum = 0;
  double residual = 0;
};

struct OriginsRequest {
  Place place;
  std::int64_t query = 0, key = 0;
  Against against = Against::kMean;
  std::optional<std::string> split = {};  // "attn 1": by head
};

/// Norms are held still as this text has them, wherever they stand.
Origins origins(const Session& session, const LoadedModel& model, const Writes& writes,
                const OriginsRequest& request);

/// The rows that `origins` reads of the streams.
StreamRows rows_for(const Session& session, const OriginsRequest& request);

/// Rows [N, C] that an attention reads: of its queries' stream, or of its keys'.
Tensor attention_input(const Session& session, const Writes& writes, const ModelParts& parts,
                       const Place& place, std::vector<std::int64_t> rows, bool of_keys);
/// A head's part [N, D] of what projections make of rows [N, C], without their shifts.
Tensor query_projection(const Attention& attention, int head, const Tensor& x);
Tensor key_projection(const Attention& attention, int kv_head, const Tensor& x);

/// What the key's value did at the query: the head's write, and the words that it raised or lowered
/// on the direct path, through norms held still, before a soft cap.
struct Effect {
  double length = 0;       // of what this value wrote, with its weight
  double head_length = 0;  // of what the head wrote
  double cosine = 0;       // between them
  struct Word {
    TokenId id = 0;
    std::string bytes;
    double change = 0;  // of the logit, less the mean over all words, which moves no probability
  };
  std::vector<Word> raised = {}, lowered = {};
  std::string no_words = {};  // why there are none
};

Effect effect(const Session& session, const LoadedModel& model, const Writes& writes,
              const Place& place, std::int64_t query, std::int64_t key, std::int64_t top);

}  // namespace heed
