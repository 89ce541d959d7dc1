// The name of a session, which says what it computes: the same model and the same input have the
// same name, today and after a restart.
#pragma once

#include <string>
#include <string_view>

#include "inspect/session/session_input.h"

namespace heed {

/// Tells models apart, also two states of one folder: the name, this version of heed, and size and
/// time of each file. A model without a folder can change unseen, so each call names another one.
std::string model_identity(const LoadedModel& model);

/// 16 hexadecimal digits: a hash of the model and of the input.
std::string session_name(std::string_view model_identity, const SessionInput& input);

}  // namespace heed
