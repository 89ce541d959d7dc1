#include "cli/look/view.h"

#include <fmt/format.h>

#include "heed/base/error.h"

namespace heed::cli {
namespace {

// The last of the tokens that the query may see.
std::int64_t key_of(const Session& cut, const std::string& word, std::int64_t query) {
  const std::vector<std::int64_t> keys = find_word(cut.tokens, word);
  if (!cut.info.causal) return keys.back();
  for (auto key = keys.rbegin(); key != keys.rend(); ++key)
    if (*key <= query) return *key;
  fail({.argument = "--to",
        .found = fmt::format("\"{}\", which stands behind token {}", word, query),
        .expected =
            fmt::format("a word that token {} sees: it sees only what is before it", query)});
}

}  // namespace

ViewAddress view_of(const ViewOptions& options, const Session& cut,
                    const std::function<std::vector<HeadScores>()>& scores) {
  const std::int64_t length = std::ssize(cut.tokens);
  ViewAddress view;
  if (!options.view.empty()) {
    view = parse_view(options.view);
    check_view(view, cut.model, cut.shapes(), length);
    return view;
  }
  view.to = options.who.empty() && !options.to.empty();
  const std::string& pinned = view.to ? options.to : options.who;
  view.query = pinned.empty() ? length - 1 : find_word(cut.tokens, pinned).back();
  if (!options.to.empty() && !view.to) view.key = key_of(cut, options.to, *view.query);
  if (options.layer && options.head) {
    view.places = {{.layer = *options.layer, .head = *options.head}};
  } else {
    const ChosenHead chosen = choose_head(cut, scores(), {}, options.layer, options.head);
    view.places = {{.layer = chosen.layer, .head = chosen.head}};
  }
  return view;
}

}  // namespace heed::cli
