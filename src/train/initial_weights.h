// What weights begin as, where the model's own random start is not wanted.
#pragma once

#include <filesystem>

#include "heed/models/model.h"

namespace heed {

/// Row p gets sin(p f_k) in its first half and cos(p f_k) in its second, f_k = 10000^(-k / half)
/// (Vaswani et al. 2017, section 3.5), scaled to the size of the values that stood there. A fixed
/// distance between positions is a rotation then, so one query-key matrix finds "the token before"
/// for all positions, where a random table has to learn it for each.
void start_sinusoidal(Parameter& table);

/// The weights of a model folder, which must have the same parameters.
void start_from(const std::filesystem::path& folder, Model& model);

}  // namespace heed
