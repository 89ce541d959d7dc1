// `--view` with a model and a text in it: a link of the page.
#pragma once

#include <string>

#include "cli/look/look_options.h"

namespace heed::cli {

/// Takes the model and the text that --view names out of it and into the options, where the command
/// line gives none; naming them twice is refused. Answers the second text, "" without one.
std::string take_link(LookOptions& options);

/// The second text of a link, as what the model reads it: the second of a pair, or the target.
void take_second(LookOptions& options, const std::string& second, const ModelInfo& info);

}  // namespace heed::cli
