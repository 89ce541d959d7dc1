#include "cli/look/link.h"

#include <utility>

#include "cli/look/view.h"
#include "heed/error.h"

namespace heed::cli {

std::string take_link(LookOptions& options) {
  if (options.view.empty()) return {};
  ViewAddress view = read_view(options.view);
  if (view.model.empty() && view.text.empty() && view.second.empty()) return {};
  const bool has_text =
      options.text_given || !options.input.file.empty() || !options.input.ids.empty();
  if (!view.text.empty() && has_text)
    fail({.found = "TEXT, --file and --ids cannot be used with a --view that has a text"});
  if (!view.second.empty() && (options.input.has_pair || options.input.has_target))
    fail({.found = "--pair and --target cannot be used with a --view that has a second text"});
  if (!view.model.empty() && !options.model.empty() && view.model != options.model)
    fail({.found = "--model cannot be used with a --view of the model " + view.model});
  if (!view.model.empty()) options.model = std::exchange(view.model, "");
  if (!view.text.empty()) {
    options.input.text = std::exchange(view.text, "");
    options.text_given = true;
  }
  std::string second = std::exchange(view.second, "");
  options.view = format_view(view);
  return second;
}

void take_second(LookOptions& options, const std::string& second, const ModelInfo& info) {
  if (second.empty()) return;
  (info.reads_source() ? options.input.target : options.input.pair) = second;
  (info.reads_source() ? options.input.has_target : options.input.has_pair) = true;
}

}  // namespace heed::cli
