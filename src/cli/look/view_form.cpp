#include "cli/look/view_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "heed/error.h"
#include "inspect/answers/address_versus.h"
#include "inspect/answers/view_parts.h"

namespace heed::cli {
namespace {

constexpr std::string_view kFollowed[] = {"i", "j", "range"};
// How a view is drawn, and never which weights and which numbers it has.
constexpr std::string_view kDrawing[] = {"scale", "scores", "zoom"};

// What look does not show on the page either: its addresses keep what other views were asked for.
constexpr std::string_view kOfOthers[] = {"t",      "k",      "p",  "line", "by", "sort",
                                          "filter", "across", "up", "form", "on"};

bool is_shown(std::string_view part, const ViewAddress& view, const std::string& format) {
  const auto is_one_of = [&](std::span<const std::string_view> names) {
    return std::ranges::find(names, part) != names.end();
  };
  return is_one_of(kFollowed) || is_one_of(kDrawing) || is_one_of(kOfOthers) ||
         (part == "units" && format == "text" && !cell_key(view));
}

// A saved page has no model, so that it can neither follow what values write nor read a text.
std::string_view forms_of(std::string_view part, const ViewAddress& view) {
  const Versus versus = read_versus(view.versus).value_or(Versus());
  const bool compares_runs = versus.text || versus.model;
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
