// The model and the limits as JSON: what the page asks for first.
#pragma once

#include <string>

#include "serve/server.h"

namespace heed::server {

/// What `GET /api/model` answers; `more` are further fields of the whole, of the model
/// `model_more`, each with a comma before it.
std::string about_json(const LoadedModel& model, const ServerLimits& limits,
                       const std::string& text, const std::string& more = {},
                       const std::string& model_more = {});

}  // namespace heed::server
