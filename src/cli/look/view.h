// The view that `heed look` shows: from --view's address, or from the other options.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heed/look.h"
#include "inspect/answers/view.h"

namespace heed::cli {

/// The command line's options for the view.
struct ViewOptions {
  std::string view = {};            // empty: from the other options
  std::optional<Stack> stack = {};  // empty: the model's first stack
  std::optional<int> layer = {}, head = {};
  std::string who = {}, to = {};
};

/// Parses --view: the address after the page's #, or a browser's whole address. It has no places if
/// the address names no head, as in `grid` and `look/i=17`: then heed chooses it.
ViewAddress read_view(const std::string& text);

/// The tokens named by the words of --who and --to.
std::vector<std::int64_t> tokens_of_who(const Session& session, Stack stack,
                                        const std::string& word);
std::vector<std::int64_t> tokens_of_to(const Session& session, Stack stack,
                                       const std::string& word);

/// The view of these tokens, checked against the model. If the options leave the head free, heed
/// chooses it; only then is `scores` called, because it needs the pass. Without `scores` it is the
/// first head.
/// Without --who, heed's edge is pinned, or, with only --to, that word and the queries that attend
/// to it.
/// If --who or --to names several tokens, the last one counts.
ShownView view_of(const ViewOptions& options, const Session& cut,
                  const std::function<std::vector<HeadScores>()>& scores);

/// The key of the view's single weight; empty for a view of rows.
inline std::optional<std::int64_t> cell_key(const ViewAddress& view) {
  return view.range ? std::nullopt : view.key;
}

/// Rejects an address with settings, of content or numbers, that `format` (text, json or tsv)
/// cannot show.
void check_form(const ViewAddress& view, const std::string& format);

}  // namespace heed::cli
