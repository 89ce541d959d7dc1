// One table reads and writes addresses; tests/vectors/addresses.json checks both languages.
#include "inspect/answers/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "heed/error.h"
#include "inspect/answers/view_parts.h"

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

}  // namespace heed
