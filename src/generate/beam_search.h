// Beam search, with the scores and the end of transformers' (`GenerationMixin._beam_search`).
#pragma once

#include <vector>

#include "heed/generate/generate.h"

namespace heed {

/// The best text of each prompt; `args` are checked, with beams above 1. Prompts run side by side,
/// and none changes another's text.
std::vector<Generated> beam_search(const Model& model, const GenerateArgs& args,
                                   GenerateListener& listener);

/// All texts that each search holds at its end, at most as many as it has beams, the highest score
/// first. The listener is asked whether to stop, and hears nothing.
std::vector<std::vector<Generated>> beam_hypotheses(const Model& model, const GenerateArgs& args,
                                                    GenerateListener& listener);

}  // namespace heed
