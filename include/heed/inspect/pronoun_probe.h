// Whether a head sends pronouns to their nouns: on generated sentences in which `she` and `he` have
// two candidates each.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

struct PronounOptions {
  std::int64_t sentences = 200;
  std::uint64_t seed = 0;
};

/// Of the row of the pronoun, over all sentences.
struct PronounHead {
  Place place;
  double right = 0;  // share of the sentences where its noun has more weight than the other one
  double noun = 0;   // mean weight of the noun phrase ("baker Mary"), all its tokens together
  double other = 0;  // mean weight of the other candidate
};

/// "The baker Mary met the smith John at the inn. Soon he": a woman and a man whose names no story
/// of heed's own training texts brings together, in both orders. Every head of the first stack, in
/// order. Errors (kInvalidArgument): a model that reads no text, or too few positions.
std::vector<PronounHead> probe_pronouns(const LoadedModel& model,
                                        const PronounOptions& options = {});

}  // namespace heed
