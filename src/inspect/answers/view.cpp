// One table reads and writes addresses; tests/vectors/addresses.json checks both languages.
#include "inspect/answers/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/wording.h"
#include "heed/error.h"
#include "inspect/answers/view_parts.h"
#include "inspect/choice.h"
#include "inspect/evidence/edited_run.h"
#include "inspect/heads/scores.h"
#include "inspect/session/places.h"

namespace heed {
namespace {

constexpr std::size_t kMostHeads = 16;
constexpr const char* kPlaces = "a head as in L2.H4, L2.H4+H1 or cross.L2.H4";
constexpr std::string_view kViews[] = {
    "look", "grid", "matrix", "why", "anatomy", "words", "heads", "flow",
};

std::string_view take_part(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

[[noreturn]] void refuse(std::string_view found, const std::string& expected) {
  fail("view", found.empty() ? "address" : "", found, expected);
}

// "L2.H4+H1+cross.L0.H3"
void read_places(ViewAddress& view, const std::string_view text) {
  view.places.clear();
  ViewPlace before;
  for (std::size_t at = 0; at <= text.size();) {
    const std::string_view part = text.substr(at, text.find('+', at) - at);
    const auto place = read_place(part, at == 0 ? nullptr : &before);
    if (!place) refuse(text, kPlaces);
    before = *place;
    if (std::ranges::find(view.places, before) == view.places.end()) view.places.push_back(before);
    at += part.size() + 1;
  }
  if (view.places.size() > kMostHeads)
    refuse(fmt::format("{} heads", view.places.size()), "at most 16");
}

void read_part(ViewAddress& view, const std::string_view part) {
  const std::string_view name = part.substr(0, part.find('='));
  const std::span<const ViewPart> parts = view_parts();
  const auto known = std::ranges::find(parts, name, &ViewPart::name);
  if (known == parts.end())
    refuse(part, listed(parts, [](const ViewPart& each) { return std::string(each.name) + "="; }));
  const std::string_view value = part.substr(std::min(part.size(), name.size() + 1));
  if (!known->read(view, value)) refuse(part, known->expected);
}

std::string format_places(const std::vector<ViewPlace>& places) {
  std::string text;
  const ViewPlace* before = nullptr;
  for (const ViewPlace& place : places) {
    const bool of_stack = before != nullptr && before->stack == place.stack;
    if (before != nullptr) text += '+';
    if (place.stack && !of_stack) text.append(stack_name(*place.stack)).append(1, '.');
    if (!of_stack || before->layer != place.layer) text += fmt::format("L{}.", place.layer);
    text += fmt::format("H{}", place.head);
    before = &place;
  }
  return text;
}

}  // namespace

std::span<const std::string_view> view_names() { return kViews; }

std::optional<ViewPlace> read_place(std::string_view part, const ViewPlace* before) {
  ViewPlace place = before != nullptr ? *before : ViewPlace();
  const std::size_t head_at = part.rfind('.') + 1;  // 0 without a dot
  const auto head = numbered(part.substr(head_at), 'H');
  if (!head || (head_at == 0 && before == nullptr)) return {};
  place.head = *head;
  if (head_at == 0) return place;
  std::string_view rest = part.substr(0, head_at - 1);  // "cross.L2"
  if (const std::size_t dot = rest.find('.'); dot != std::string_view::npos) {
    place.stack = stack_of(rest.substr(0, dot));
    if (!place.stack) return {};
    rest.remove_prefix(dot + 1);
  }
  const auto layer = numbered(rest, 'L');
  place.layer = layer.value_or(0);
  return layer ? std::optional(place) : std::nullopt;
}

ViewAddress parse_view(std::string_view address, ViewHeads heads) {
  if (address.starts_with('#')) address.remove_prefix(1);
  ViewAddress view;
  const bool is_name_alone = address.find('/') == std::string_view::npos;
  view.view = take_part(address, '/');
  if (std::ranges::find(kViews, view.view) == std::end(kViews))
    refuse(view.view, listed(kViews, [](std::string_view name) { return std::string(name); }));
  const bool names_heads =
      !is_name_alone && address.substr(0, address.find('/')).find('=') == std::string_view::npos;
  if (heads == ViewHeads::kOptional && !names_heads)
    view.places.clear();
  else if (address.empty())
    refuse("", kPlaces);
  else
    read_places(view, take_part(address, '/'));
  while (!address.empty()) read_part(view, take_part(address, '/'));
  if (view.key && !view.query) refuse(fmt::format("j={}", *view.key), "i= beside it");
  return view;
}

std::string format_view(const ViewAddress& view) {
  std::string address = view.view;
  if (!view.places.empty()) address += "/" + format_places(view.places);
  for (const ViewPart& part : view_parts())
    if (const std::string value = part.write(view); !value.empty())
      address.append(1, '/').append(part.name).append(1, '=').append(value);
  return address;
}

namespace {

std::vector<std::string_view> score_names(const std::vector<StackShape>& stacks) {
  std::vector<std::string_view> names;
  for (const ScoreInfo& info : score_infos())
    if (std::ranges::any_of(stacks, [&](const StackShape& each) { return has_score(each, info); }))
      names.push_back(info.name);
  return names;
}

void check_score(const char* part, const char* count, const std::string& name,
                 const std::vector<StackShape>& stacks) {
  const std::vector<std::string_view> names = score_names(stacks);
  if (std::ranges::find(names, name) == names.end())
    fail("view", part, name, fmt::format("{} of {}", count, joined(names, ", ")),
         ErrorCode::kNotFound);
}

// Checks that the other side of the comparison exists.
void check_versus(const ViewAddress& view, const Session& session) {
  if (view.versus.empty()) return;
  const Versus versus = read_versus(view.versus).value_or(Versus{});
  if (versus.head) {
    const std::vector<StackShape> shapes = session.shapes();
    const Place place = place_of(*versus.head, shapes);
    const StackShape& stack = find_stack("view", session.model, shapes, place.stack);
    check_layer("view", session.model, stack, place.layer);
    check_head("view", session.model, stack, place.head);
  } else if (!versus.text && !versus.model && !versus.run) {
    check_edits("view", session, versus.edits);
  }
}

}  // namespace

Place place_of(const ViewPlace& place, const std::vector<StackShape>& stacks) {
  return {place.stack.value_or(stacks.at(0).stack), place.layer, place.head};
}

void check_view(const ViewAddress& view, std::string_view model,
                const std::vector<StackShape>& stacks, const MatrixSize& size) {
  const Stack first = place_of(view.places.front(), stacks).stack;
  for (const ViewPlace& place : view.places) {
    const StackShape& stack = find_stack("view", model, stacks, place_of(place, stacks).stack);
    if (stack.stack != first)
      fail("view", "stack", stack_name(stack.stack),
           fmt::format("{}, as of the first head", stack_name(first)));
    check_layer("view", model, stack, place.layer);
    check_head("view", model, stack, place.head);
  }
  for (const std::string& name : view.scores) check_score("scores", "two", name, stacks);
  if (view.sort != "number") check_score("sort", "number, or one", view.sort, stacks);
  check_score("x", "one", view.x, stacks);
  check_score("y", "one", view.y, stacks);
  check_head_filter(parse_head_filter(view.filter), score_names(stacks));
  const std::int64_t pinned = view.to ? size.keys : size.queries;
  if (view.query) check_token("view", "i", *view.query, view.key ? size.queries : pinned);
  if (view.key) check_token("view", "j", *view.key, size.keys);
  if (view.range)
    check_token("view", "range", view.range->second, view.to ? size.keys : size.queries);
  if (view.zoom) {
    check_token("view", "zoom", view.zoom->first.second, size.queries);
    check_token("view", "zoom", view.zoom->second.second, size.keys);
  }
}

void check_view(const ViewAddress& view, const Session& session) {
  const std::vector<StackShape> shapes = session.shapes();
  const Stack stack =
      find_stack("view", session.model, shapes, place_of(view.places.front(), shapes).stack).stack;
  check_view(view, session.model, shapes, session.size(stack));
  check_versus(view, session);
  if (!view.pair.empty() && !session.split)
    fail("view", "pair", view.pair, "none: one text was read, not a pair");
}

ViewAddress with_some_head(ViewAddress view, const Session& session) {
  if (!view.places.empty()) return view;
  const StackShape& shape = session.stacks.front().shape;
  int layer = 0;
  while (layer + 1 < shape.layers && !(shape.has(layer) && session.keep.has(layer))) ++layer;
  view.places = {{.layer = layer}};
  return view;
}

ChosenHead head_for_view(const Session& session, Stack stack, const ViewAddress& view,
                         std::optional<int> layer, std::optional<int> head,
                         const std::function<std::vector<HeadScores>()>& scores) {
  if (view.query && view.key)
    return choose_head_of_edge(session, {{*view.query}}, {{*view.key}}, stack, layer, head);
  if (view.query && view.to)
    return choose_head_of_keys(session, {{*view.query}}, stack, layer, head);
  if (layer && head) {
    const ChosenHead named = choose_head(session, {}, stack, layer, head);
    return view.query ? named : at_strongest_edge(session, named);
  }
  const std::vector<std::int64_t> row(view.query ? 1 : 0, view.query.value_or(0));
  return choose_head(session, scores(), stack, layer, head, row);
}

ShownView shown(ViewAddress view, ChosenHead chosen) {
  chosen.query = view.query;
  chosen.key = view.key;
  return {std::move(view), chosen.automatic ? std::optional(chosen) : std::nullopt};
}

ShownView with_chosen_head(const Session& session,
                           const std::function<std::vector<HeadScores>()>& scores,
                           ViewAddress view) {
  if (!view.places.empty()) return {std::move(view)};
  const ChosenHead chosen =
      head_for_view(session, session.stacks.front().shape.stack, view, {}, {}, scores);
  view.places = {{.layer = chosen.layer, .head = chosen.head}};
  if (!view.query && !view.range) {
    view.query = chosen.query;
    view.key = chosen.key;
  }
  return shown(std::move(view), chosen);
}

}  // namespace heed
