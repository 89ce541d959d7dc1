// What of a view's address the forms text, json and tsv show.
#pragma once

#include <string>

#include "heed/inspect/view.h"

namespace heed::cli {

/// Whether the view is of one weight.
inline bool shows_one_cell(const ViewAddress& view) { return view.key && !view.range; }

/// Refuses an address that says of what is shown, or of its numbers, more than `format` (text, json
/// or tsv) has.
void check_form(const ViewAddress& view, const std::string& format);

}  // namespace heed::cli
