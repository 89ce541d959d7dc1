// Edits in canonical order, combined, and as text.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/sequences.h"
#include "base/wording.h"
#include "heed/session.h"

namespace heed {
namespace {

// Edits of one place, which follow each other, become one.
template <typename Edit, typename IsSame, typename Join>
void join_equal(std::vector<Edit>& edits, IsSame is_same, Join join) {
  std::vector<Edit> joined;
  for (const Edit& edit : edits)
    if (!joined.empty() && is_same(joined.back(), edit))
      join(joined.back(), edit);
    else
      joined.push_back(edit);
  edits = std::move(joined);
}

template <typename Edit>
void forget(std::vector<Edit>& edits, const Place& place) {
  std::erase_if(edits, [&](const Edit& edit) { return edit.place == place; });
}

// Drops or changes those edits of `first` that `then` overrules.
void overrule(Edits& first, const Edits& then) {
  std::erase_if(first.swap, [&](const TokenSwap& old) {
    return std::ranges::find(then.swap, old.at, &TokenSwap::at) != then.swap.end();
  });
  for (const FrozenHead& frozen : then.freeze) {
    forget(first.freeze, frozen.place);
    forget(first.temperature, frozen.place);
    forget(first.steer, frozen.place);
    forget(first.masked, frozen.place);
    std::erase_if(first.remove,
                  [&](const RemovedEdge& edge) { return edge.place == frozen.place; });
  }
  for (const Temperature& temperature : then.temperature)
    for (Steering& steering : first.steer)
      if (steering.place == temperature.place) steering.by *= temperature.factor;
  for (const Place& ablated : then.ablate) forget(first.patch, ablated);
  for (const PatchedHead& patched : then.patch)
    std::erase_if(first.patch, [&](const PatchedHead& old) {
      return old.place == patched.place && (patched.query < 0 || old.query == patched.query);
    });
}

template <typename Edit>
void append(std::vector<Edit>& into, const std::vector<Edit>& edits) {
  into.insert(into.end(), edits.begin(), edits.end());
}

std::string text_of(const Place& place) {
  return fmt::format("{}.L{}.H{}", stack_name(place.stack), place.layer, place.head);
}

std::string text_of(const RemovedEdge& edge) {
  return fmt::format("{}/{}/{}", text_of(edge.place), edge.query, edge.key);
}

std::string text_of(const EditedToken& token) {
  return fmt::format("{}/{}", token.side == TokenSide::kTokens ? "tokens" : "key_tokens",
                     token.position);
}

std::string text_of(const TokenSwap& swap) {
  return fmt::format("{}/{}", text_of(swap.at), swap.id);
}

std::string text_of(const AddedMask& mask) {
  return fmt::format("{}{}{}/{}/{}", stack_name(mask.stack),
                     mask.layer ? fmt::format(".L{}", *mask.layer) : "",
                     mask.head ? fmt::format(".H{}", *mask.head) : "", mask.left, mask.right);
}

std::string text_of(const Temperature& edit) {
  return fmt::format("{}/{}", text_of(edit.place), edit.factor);
}

std::string text_of(const Steering& edit) {
  return fmt::format("{}/{}/{}/{}", text_of(edit.place), edit.query, edit.key, edit.by);
}

std::string text_of(const MaskedHead& edit) {
  return fmt::format("{}/{}", text_of(edit.place), edit.name);
}

std::string text_of(const FrozenHead& edit) {
  return fmt::format("{}/{}", text_of(edit.place), edit.from.name);
}

std::string text_of(const PatchedHead& edit) {
  return fmt::format("{}/{}/{}", text_of(edit.place), edit.query, edit.from.name);
}

template <typename Edit>
void write(std::vector<std::string>& parts, const char* name, const std::vector<Edit>& edits) {
  if (edits.empty()) return;
  std::vector<std::string> texts;
  for (const Edit& edit : edits) texts.push_back(text_of(edit));
  parts.push_back(fmt::format("{}={}", name, joined(texts, ",")));
}

}  // namespace

std::strong_ordering MaskedHead::operator<=>(const MaskedHead& other) const {
  return std::tie(place, name) <=> std::tie(other.place, other.name);
}

bool Edits::empty() const {
  return ablate.empty() && remove.empty() && hide.empty() && swap.empty() && mask.empty() &&
         temperature.empty() && steer.empty() && masked.empty() && freeze.empty() && patch.empty();
}

Edits canonical(Edits edits) {
  sort_once(edits.ablate);
  sort_once(edits.remove);
  sort_once(edits.hide);
  sort_once(edits.swap);
  sort_once(edits.mask);
  sort_once(edits.masked);
  sort_once(edits.freeze);
  sort_once(edits.patch);
  std::ranges::sort(edits.temperature);
  join_equal(
      edits.temperature, [](const auto& a, const auto& b) { return a.place == b.place; },
      [](Temperature& into, const Temperature& more) { into.factor *= more.factor; });
  std::ranges::sort(edits.steer);
  join_equal(
      edits.steer,
      [](const auto& a, const auto& b) {
        return a.place == b.place && a.query == b.query && a.key == b.key;
      },
      [](Steering& into, const Steering& more) { into.by += more.by; });
  return edits;
}

Edits combined(const Edits& first, const Edits& then) {
  Edits both = first;
  overrule(both, then);
  append(both.ablate, then.ablate);
  append(both.remove, then.remove);
  append(both.hide, then.hide);
  append(both.swap, then.swap);
  append(both.mask, then.mask);
  append(both.temperature, then.temperature);
  append(both.steer, then.steer);
  append(both.masked, then.masked);
  append(both.freeze, then.freeze);
  append(both.patch, then.patch);
  return canonical(std::move(both));
}

std::string to_text(const Edits& edits) {
  std::vector<std::string> parts;
  write(parts, "ablate", edits.ablate);
  write(parts, "remove", edits.remove);
  write(parts, "hide", edits.hide);
  write(parts, "swap", edits.swap);
  write(parts, "mask", edits.mask);
  write(parts, "temperature", edits.temperature);
  write(parts, "steer", edits.steer);
  write(parts, "masked", edits.masked);
  write(parts, "freeze", edits.freeze);
  write(parts, "patch", edits.patch);
  return joined(parts, ";");
}

}  // namespace heed
