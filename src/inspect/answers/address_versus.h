// What a view is compared with, as an address has it: L2.H4, ablate:self.L2.H6;swap:tokens:3:431,
// text: and a text, or model: and its name, whose letters are those of a link; or run: and the name
// of a session that was given beside the first.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "heed/inspect/edits.h"
#include "heed/inspect/view.h"

namespace heed {

/// One of the five.
struct Versus {
  std::optional<ViewPlace> head = {};
  Edits edits = {};
  std::optional<std::string> text = {};
  std::optional<std::string> model = {};  // reads the same text
  std::optional<std::string> run = {};    // another session, beside the first
};

/// The id of the session that `run` names.
std::string run_id(std::string_view run);

/// Nothing where it does not parse.
std::optional<Versus> read_versus(std::string_view text);

}  // namespace heed
