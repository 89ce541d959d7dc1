// What of a view's address the forms text, json and tsv show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "heed/inspect/view.h"

namespace heed::cli {

/// The key of the one weight that the view is of; none where it is of rows.
inline std::optional<std::int64_t> cell_key(const ViewAddress& view) {
  return view.range ? std::nullopt : view.key;
}

/// Refuses an address that says of what is shown, or of its numbers, more than `format` (text, json
/// or tsv) has.
void check_form(const ViewAddress& view, const std::string& format);

}  // namespace heed::cli
