#include "cli/look/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/wording.h"
#include "cli/terminal/output.h"
#include "heed/error.h"
#include "inspect/answers/view_parts.h"
#include "inspect/rows/words.h"

namespace heed::cli {
namespace {

constexpr WordSides kSides = {.queries = "--who", .keys = "--to"};

// The last of the tokens that is visible to the query.
std::int64_t key_of(const Session& cut, const StackShape& stack, const std::string& word,
                    std::int64_t query) {
  const std::vector<std::int64_t> keys = tokens_of_to(cut, stack.stack, word);
  if (!stack.causal) return keys.back();
  for (auto key = keys.rbegin(); key != keys.rend(); ++key)
    if (*key <= query) return *key;
  fail({.argument = "--to",
        .found = fmt::format("\"{}\", which stands behind token {}", word, query),
        .expected =
            fmt::format("a word that token {} sees: it sees only what is before it", query)});
}

// The part after # of http://127.0.0.1:8321/#look/L2.H4.
std::string_view part_behind_sign(std::string_view text) {
  if (!text.starts_with("http://") && !text.starts_with("https://")) return text;
  const std::size_t sign = text.find('#');
  return sign == std::string_view::npos ? text : text.substr(sign + 1);
}

// L1.H3 instead of look/L1.H3
bool is_address_with_look(std::string_view name) {
  try {
    parse_view("look/" + std::string(name), ViewHeads::kOptional);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

ViewAddress read_view(const std::string& text) {
  const std::string_view address = part_behind_sign(text);
  const std::string_view name = address.substr(address.starts_with('#') ? 1 : 0);
  const bool is_address = std::ranges::any_of(view_names(), [&](std::string_view view) {
    return name.starts_with(std::string(view) + "/");
  });
  return reworded([&] { return parse_view(address, ViewHeads::kOptional); },
                  [&](ErrorParts& parts) {
                    parts.op = {};
                    if (is_address && !parts.found.empty()) {  // only one part of it is wrong
                      parts.found = fmt::format("--view has \"{}\"", parts.found.text());
                      return;
                    }
                    parts.argument = "--view";
                    parts.found = fmt::format("\"{}\"", text);
                    parts.expected = is_address
                                         ? fmt::format("{} behind {}/", parts.expected.text(),
                                                       name.substr(0, name.find('/')))
                                         : "an address of the page, as in look/L2.H4/i=17/j=3";
                    if (is_address_with_look(name))
                      parts.hint = fmt::format("did you mean look/{}?", name);
                  });
}

std::vector<std::int64_t> tokens_of_who(const Session& session, Stack stack,
                                        const std::string& word) {
  return find_word(session, stack, /*is_key=*/false, word, kSides);
}

std::vector<std::int64_t> tokens_of_to(const Session& session, Stack stack,
                                       const std::string& word) {
  return find_word(session, stack, /*is_key=*/true, word, kSides);
}

namespace {

// A view shows a single token: the last match, and stderr reports it.
std::int64_t shown_token(const char* option, const std::vector<std::int64_t>& found,
                         const std::string& word) {
  if (found.size() > 1)
    tell("heed look: {} {} is {} tokens; shown is the last, {}\n", option, word, found.size(),
         found.back());
  return found.back();
}

}  // namespace

ShownView view_of(const ViewOptions& options, const Session& cut,
                  const std::function<std::vector<HeadScores>()>& scores) {
  ViewAddress view;
  if (!options.view.empty()) {
    view = read_view(options.view);
    check_view(with_some_head(view, cut), cut);
    if (!scores) return {with_some_head(std::move(view), cut)};
    return with_chosen_head(cut, scores, std::move(view));
  }
  const StackShape& stack = cut.at(options.stack.value_or(cut.stacks.front().shape.stack)).shape;
  view.to = options.who.empty() && !options.to.empty();
  const auto tokens = view.to ? cut.keys(stack.stack) : cut.queries(stack.stack);
  const std::string& pinned = view.to ? options.to : options.who;
  if (!pinned.empty()) {
    const std::int64_t token =
        view.to ? shown_token("--to", tokens_of_to(cut, stack.stack, pinned), pinned)
                : shown_token("--who", tokens_of_who(cut, stack.stack, pinned), pinned);
    view.query = token;
    if (!options.to.empty() && !view.to) view.key = key_of(cut, stack, options.to, token);
  }
  const ChosenHead chosen =
      head_for_view(cut, stack.stack, view, options.layer, options.head, scores);
  if (!view.query) {
    view.query = chosen.query.value_or(std::ssize(tokens) - 1);
    view.key = chosen.key;
  }
  const bool is_first = stack.stack == cut.stacks.front().shape.stack;  // which is not named
  view.places = {{.stack = is_first ? std::nullopt : std::optional(stack.stack),
                  .layer = chosen.layer,
                  .head = chosen.head}};
  return shown(std::move(view), chosen);
}

namespace {

constexpr std::string_view kFollowed[] = {"i", "j", "range"};
// Parts that affect only the drawing, not which weights and numbers are shown.
constexpr std::string_view kDrawing[] = {"scale", "scores", "zoom"};

// Parts that look ignores on the page too: addresses keep the settings of other views.
constexpr std::string_view kOfOthers[] = {"t",    "k",        "p",      "line", "by",
                                          "sort", "filter",   "across", "up",   "form",
                                          "on",   "rotation", "guide"};

bool is_shown(std::string_view part, const ViewAddress& view, const std::string& format) {
  const auto is_one_of = [&](std::span<const std::string_view> names) {
    return std::ranges::find(names, part) != names.end();
  };
  return is_one_of(kFollowed) || is_one_of(kDrawing) || is_one_of(kOfOthers) ||
         (part == "units" && format == "text" && !cell_key(view));
}

// A saved page has no model, so it can neither follow what values write nor read a text.
std::string_view forms_of(std::string_view part, const ViewAddress& view) {
  const Versus versus = read_versus(view.versus).value_or(Versus());
  const bool compares_runs = versus.text || versus.model || versus.run;
  if (part == "of" || ((part == "vs" || part == "show") && compares_runs)) return "svg or png";
  if (part == "units" && !cell_key(view)) return "text, svg, png or html";
  return "svg, png or html";
}

}  // namespace

void check_form(const ViewAddress& view, const std::string& format) {
  if (view.view != "look")
    fail({.argument = "--format",
          .found = format,
          .expected = fmt::format("svg, png or html, which show the view {}", view.view)});
  for (const ViewPart& part : view_parts()) {
    const std::string value = part.write(view);
    if (value.empty() || is_shown(part.name, view, format)) continue;
    fail({.argument = "--format",
          .found = format,
          .expected = fmt::format("{}, which show the \"{}={}\" of --view",
                                  forms_of(part.name, view), part.name, value)});
  }
}

}  // namespace heed::cli
