// The text that `heed look` reads.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "heed/inspect/session.h"

namespace heed::cli {

struct LookInput {
  std::string text, file;
  std::vector<TokenId> ids;
  std::string keep;  // "first" or "last"; empty: all of it
};

/// Declares TEXT, --file, --keep and --ids.
void add_look_input(CLI::App& app, LookInput& input);

/// The text, or the part of it that is kept.
std::string text_of(const LookInput& input, const LoadedModel& model);

/// A text's tokens before the pass; where they are too many the error names --keep.
Session cut_text(const LoadedModel& model, const std::string& text);

}  // namespace heed::cli
