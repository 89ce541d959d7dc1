// Beam search, with the scores and the stopping rule of transformers
// (`GenerationMixin._beam_search`).
#pragma once

#include <vector>

#include "heed/generate.h"

namespace heed {

/// The best text for each prompt; `args` must be checked, with beams above 1. Prompts run in one
/// batch, and none changes another's text.
std::vector<Generated> beam_search(const Model& model, const GenerateArgs& args,
                                   GenerateListener& listener);

/// All texts of each search at its end, at most one per beam, highest score first. The listener is
/// asked whether to stop, and gets no tokens.
std::vector<std::vector<Generated>> beam_hypotheses(const Model& model, const GenerateArgs& args,
                                                    GenerateListener& listener);

}  // namespace heed
