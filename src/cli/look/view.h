// Which view of a text `heed look` shows: the address of --view, or what the other options say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/inspect/heads.h"
#include "heed/inspect/look.h"
#include "heed/inspect/view.h"

namespace heed::cli {

/// What the command line says of the view.
struct ViewOptions {
  std::string view = {};            // empty: the others say it
  std::optional<Stack> stack = {};  // none: the model's first
  std::optional<int> layer = {}, head = {};
  std::string who = {}, to = {};
};

/// What --view says: the address behind # of the page, or the whole of what a browser shows. It has
/// no places where the address names no head, as in `grid` and `look/i=17`: heed chooses it.
ViewAddress read_view(const std::string& text);

/// The view with the first head in place of one that is not named: what can be checked before heed
/// chooses it.
ViewAddress with_some_head(ViewAddress view);

/// The tokens that the word of --who names, and those of --to.
std::vector<std::int64_t> tokens_of_who(const Session& session, Stack stack,
                                        const std::string& word);
std::vector<std::int64_t> tokens_of_to(const Session& session, Stack stack,
                                       const std::string& word);

struct ShownView {
  ViewAddress view;
  std::optional<ChosenHead> chosen = {};  // if heed chose the head: why, at what the view pins
};

/// The view of these tokens, checked against the model. Where the options leave the head free, it
/// is the one that `heed look` chooses; only then `scores` is called, since it needs the pass.
/// Without `scores` it is the first one.
/// Without --who the edge that heed chooses is pinned, or, with --to alone, that word and who
/// attends to it.
/// Where --who or --to names several tokens, the last one counts.
ShownView view_of(const ViewOptions& options, const Session& cut,
                  const std::function<std::vector<HeadScores>()>& scores);

/// The key of the one weight that the view is of; none where it is of rows.
inline std::optional<std::int64_t> cell_key(const ViewAddress& view) {
  return view.range ? std::nullopt : view.key;
}

/// Refuses an address that says of what is shown, or of its numbers, more than `format` (text, json
/// or tsv) has.
void check_form(const ViewAddress& view, const std::string& format);

}  // namespace heed::cli
