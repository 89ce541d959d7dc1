#include "heed/inspect/view.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "heed/base/error.h"

namespace heed {
namespace {

constexpr std::size_t kMostHeads = 16;
constexpr const char* kExample = "look/L2.H4/i=17/j=3";

struct Setting {
  std::string_view name;
  std::string_view values;  // with a bar between
};
constexpr std::array<Setting, 3> kSettings = {
    {{"to", "0|1"}, {"units", "token|word|sentence"}, {"scale", "linear|sqrt|log|rank"}}};
// What server::score_names says; models that are not causal have `next`, too.
constexpr std::string_view kScores = "previous|current|sink|distance|entropy|elsewhere";

std::string_view take_part(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

std::int64_t number_of(std::string_view part, std::string_view text) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc() && end == text.data() + text.size() && number >= 0,
          "view: found \"{}\" in \"{}\", expected a number from 0", text, part);
  return number;
}

int small_number(std::string_view part, std::string_view text) {
  return static_cast<int>(std::min<std::int64_t>(number_of(part, text), INT32_MAX));
}

// "L2.H4+H1"
void read_heads(ViewAddress& view, std::string_view part) {
  std::string_view left = part;
  const std::string_view layer = take_part(left, '.');
  require(layer.starts_with('L') && !left.empty(),
          "view: found \"{}\" as layer and head, expected L2.H4 as in {}", part, kExample);
  view.layer = small_number(part, layer.substr(1));
  view.heads.clear();
  while (!left.empty()) {
    const std::string_view head = take_part(left, '+');
    require(head.starts_with('H'),
            "view: found \"{}\" as layer and head, expected L2.H4 or L2.H4+H1", part);
    const int number = small_number(part, head.substr(1));
    if (std::ranges::find(view.heads, number) == view.heads.end()) view.heads.push_back(number);
  }
  require(view.heads.size() <= kMostHeads, "view: found {} heads, expected at most {}",
          view.heads.size(), kMostHeads);
}

bool is_one_of(std::string_view values, std::string_view value) {
  while (!values.empty())
    if (take_part(values, '|') == value) return true;
  return false;
}

// "previous+distance": the two scores that chips show.
bool are_scores(std::string_view value) {
  const auto is_name = [](std::string_view name) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_";
    return !name.empty() && name.find_first_not_of(kLetters) == std::string_view::npos;
  };
  const std::string_view first = take_part(value, '+');
  return is_name(first) && is_name(value);
}

bool is_setting(std::string_view part, std::string_view name, std::string_view value) {
  if (name == "scores") {
    require(are_scores(value), "view: found \"{}\", expected two names as in previous+distance",
            part);
    return true;
  }
  for (const Setting& setting : kSettings) {
    if (setting.name != name) continue;
    require(is_one_of(setting.values, value), "view: found \"{}\", expected {}={}", part, name,
            setting.values);
    return true;
  }
  return false;
}

void read_part(ViewAddress& view, std::string_view part) {
  std::string_view value = part;
  const std::string_view name = take_part(value, '=');
  if (name == "i") {
    view.query = number_of(part, value);
  } else if (name == "j") {
    view.key = number_of(part, value);
  } else if (name == "range") {
    const std::string_view first = take_part(value, '-');
    view.range = {number_of(part, first), number_of(part, value)};
    require(view.range->first <= view.range->second,
            "view: found \"{}\", expected the first token before the last", part);
  } else {
    require(is_setting(part, name, value),
            "view: found \"{}\", expected i=, j=, range=, to=, units=, scale= or scores=", part);
    view.settings.emplace_back(part);
  }
}

// "scores=previous+distance"
void check_scores(std::string_view part, bool causal) {
  std::string_view names = part;
  take_part(names, '=');
  while (!names.empty()) {
    const std::string_view name = take_part(names, '+');
    require(is_one_of(kScores, name) || (name == "next" && !causal),
            "view: \"{}\" in \"{}\" is no score, expected {}{}", name, part, kScores,
            causal ? "" : "|next");
  }
}

void check_token(const char* name, std::int64_t token, std::int64_t tokens) {
  require(token < tokens, "view: {} {} is beyond the text, which has tokens 0 to {}", name, token,
          tokens - 1);
}

}  // namespace

ViewAddress parse_view(std::string_view address) {
  if (address.starts_with('#')) address.remove_prefix(1);
  ViewAddress view;
  view.view = take_part(address, '/');
  require(view.view == "look", "view: \"{}\" does not exist, expected look as in {}", view.view,
          kExample);
  require(!address.empty(), "view: it names no head, expected {}", kExample);
  read_heads(view, take_part(address, '/'));
  while (!address.empty()) read_part(view, take_part(address, '/'));
  require(!view.key || view.query, "view: j= needs i= beside it: whose weight on token {}?",
          view.key.value_or(0));
  return view;
}

void check_view(const ViewAddress& view, std::string_view model, const ModelInfo& info,
                std::int64_t tokens) {
  require(view.layer < info.layers, "view: layer {} does not exist, {} has layers 0 to {}",
          view.layer, model, info.layers - 1);
  for (const int head : view.heads)
    require(head < info.heads, "view: head {} does not exist, {} has heads 0 to {}", head, model,
            info.heads - 1);
  for (const std::string& setting : view.settings)
    if (setting.starts_with("scores=")) check_scores(setting, info.causal);
  if (view.query) check_token("i", *view.query, tokens);
  if (view.key) check_token("j", *view.key, tokens);
  if (view.range) check_token("range", view.range->second, tokens);
}

std::string format_view(const ViewAddress& view) {
  std::string address = fmt::format("{}/L{}.", view.view, view.layer);
  for (std::size_t at = 0; at < view.heads.size(); ++at)
    address += fmt::format("{}H{}", at == 0 ? "" : "+", view.heads[at]);
  if (view.query) address += fmt::format("/i={}", *view.query);
  if (view.key) address += fmt::format("/j={}", *view.key);
  if (view.range) address += fmt::format("/range={}-{}", view.range->first, view.range->second);
  for (const std::string& setting : view.settings) address += "/" + setting;
  return address;
}

}  // namespace heed
