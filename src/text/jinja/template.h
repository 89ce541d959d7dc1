// Jinja, as far as published models' chat templates use it.
#pragma once

#include <string>
#include <string_view>

#include "base/formats/json.h"

namespace heed {

/// Renders the template with the members of `variables`, like transformers: trim_blocks and
/// lstrip_blocks, values that templates cannot change, `raise_exception` and `strftime_now`. Errors
/// name `file` and the line of the template. kUnsupported: the template uses an unsupported filter,
/// test, method or block.
///
/// Templates are untrusted programs. They can neither read files nor run for long: loops, nested
/// calls and the sizes of texts are bounded.
std::string render_template(std::string_view source, const Json& variables,
                            const std::string& file);

}  // namespace heed
