#include "heed/inspect/edits.h"

#include <fmt/format.h>

#include <algorithm>

namespace heed {
namespace {

template <typename Edit>
void sort_once(std::vector<Edit>& edits) {
  std::ranges::sort(edits);
  const auto again = std::ranges::unique(edits);
  edits.erase(again.begin(), again.end());
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

template <typename Edit>
void write(std::vector<std::string>& parts, const char* name, const std::vector<Edit>& edits) {
  if (edits.empty()) return;
  std::vector<std::string> texts;
  for (const Edit& edit : edits) texts.push_back(text_of(edit));
  parts.push_back(fmt::format("{}={}", name, fmt::join(texts, ",")));
}

}  // namespace

bool Edits::empty() const {
  return ablate.empty() && remove.empty() && hide.empty() && swap.empty() && mask.empty();
}

Edits canonical(Edits edits) {
  sort_once(edits.ablate);
  sort_once(edits.remove);
  sort_once(edits.hide);
  sort_once(edits.swap);
  sort_once(edits.mask);
  return edits;
}

Edits combined(const Edits& first, const Edits& then) {
  Edits both = first;
  std::erase_if(both.swap, [&](const TokenSwap& old) {
    return std::ranges::find(then.swap, old.at, &TokenSwap::at) != then.swap.end();
  });
  append(both.ablate, then.ablate);
  append(both.remove, then.remove);
  append(both.hide, then.hide);
  append(both.swap, then.swap);
  append(both.mask, then.mask);
  return canonical(std::move(both));
}

std::string to_text(const Edits& edits) {
  std::vector<std::string> parts;
  write(parts, "ablate", edits.ablate);
  write(parts, "remove", edits.remove);
  write(parts, "hide", edits.hide);
  write(parts, "swap", edits.swap);
  write(parts, "mask", edits.mask);
  return fmt::format("{}", fmt::join(parts, ";"));
}

}  // namespace heed
