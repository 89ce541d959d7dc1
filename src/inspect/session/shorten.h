// A text that is too long, cut to the tokens that the model can read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "heed/inspect/session.h"

namespace heed {

enum class Keep { kAll, kFirst, kLast };

/// The part of `text` that has at most `model`'s positions as tokens; `text` itself where it has no
/// more or all is kept. Cuts between characters, and between tokens where these end with one. The
/// tokens of `pair`, which an encoder reads beside it, are counted and not cut.
std::string shorten(const LoadedModel& model, const std::string& text, Keep keep,
                    std::optional<std::string_view> pair = {});

}  // namespace heed
