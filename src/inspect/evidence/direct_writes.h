// What each head adds to the logit of one word by the direct path alone (direct logit attribution).
#pragma once

#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// By position of the model's words: what the head's output there adds to the logit of the word
/// that came, less the mean over all words, which moves no probability. Norms are held still as the
/// text has them, and a soft cap of the logits is left out. Behind the last token no word has come:
/// there the likeliest stands in.
struct DirectWrites {
  Place place;
  std::vector<float> logits;
};

/// Of every head whose stream the words are read from; none where the model has no words, or a
/// layer that is not linear before them. Passes of the model in pieces of the text, so that what
/// they keep stays small.
std::vector<DirectWrites> direct_writes(const Session& session, const LoadedModel& model);

}  // namespace heed
