// The name of a session, which says what it computes: the same model and the same input have the
// same name, today and after a restart.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "heed/models/registry.h"

namespace heed {

/// Tells models apart, also two states of one folder: the name, this version of heed, and size and
/// time of each file. A model without a folder can change unseen, so each call names another one.
std::string model_identity(const LoadedModel& model);

/// 16 hexadecimal digits: a hash of the model and of the text, or of the ids that stand in its
/// place.
std::string session_name(std::string_view model_identity, std::string_view text,
                         std::span<const TokenId> ids);

}  // namespace heed
