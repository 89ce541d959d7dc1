// Jinja, as far as the chat templates of published models use it.
#pragma once

#include <string>
#include <string_view>

#include "base/formats/json.h"

namespace heed {

/// Writes the template with the members of `variables`, as transformers does: trim_blocks and
/// lstrip_blocks, values that templates cannot change, `raise_exception` and `strftime_now`.
/// Errors name `file` and the line of the template. kUnsupported: the template asks for a filter, a
/// test, a method or a block that is not served.
///
/// Templates are programs that others wrote. One can neither read files nor run for long: loops,
/// calls in calls and the sizes of texts are bounded.
std::string render_template(std::string_view source, const Json& variables,
                            const std::string& file);

}  // namespace heed
