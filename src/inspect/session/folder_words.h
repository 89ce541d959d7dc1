// How a model's folder wants texts written, for the texts that a session writes.
#pragma once

#include <span>
#include <string_view>

#include "heed/generate/generation_config.h"
#include "heed/models/registry.h"

namespace heed {

/// Lets `args` follow the folder's generation_config.json, but for the members that are `given`:
/// greedily where it does not say that it samples, as transformers does.
void follow_folder(const LoadedModel& model, GenerateArgs& args,
                   std::span<const std::string_view> given = {});

}  // namespace heed
