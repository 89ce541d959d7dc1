#include <algorithm>
#include <cctype>
#include <vector>

#include "heed/tokenizer.h"
#include "inspect/answers/view_parts.h"

namespace heed {
namespace {

constexpr std::size_t kMostText = 6000;  // characters of an encoded text or name
constexpr std::size_t kDigits = 9;

using Fields = std::vector<std::string_view>;

Fields split(std::string_view text, char at) {
  Fields fields;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

// "self.L2.H6"; a mask may omit layer and head.
std::optional<AddedMask> part_of_model(std::string_view text) {
  const Fields fields = split(text, '.');
  const std::optional<Stack> stack = stack_of(fields.front());
  if (!stack) return {};
  AddedMask part{.stack = *stack};
  std::size_t next = 1;
  if (next < fields.size() && (part.layer = numbered(fields[next], 'L'))) ++next;
  if (next < fields.size() && (part.head = numbered(fields[next], 'H'))) ++next;
  return next == fields.size() ? std::optional(part) : std::nullopt;
}

std::optional<Place> place_of(std::string_view text) {
  const auto part = part_of_model(text);
  if (!part || !part->layer || !part->head) return {};
  return Place{part->stack, *part->layer, *part->head};
}

std::optional<EditedToken> token_of(const Fields& fields) {
  const auto position = address_number(fields[1], kDigits);
  if (!position || (fields[0] != "tokens" && fields[0] != "key_tokens")) return {};
  return EditedToken{fields[0] == "tokens" ? TokenSide::kTokens : TokenSide::kKeyTokens, *position};
}

bool read_ablated(Edits& edits, const Fields& fields) {
  const auto place = fields.size() == 1 ? place_of(fields[0]) : std::nullopt;
  if (place) edits.ablate.push_back(*place);
  return place.has_value();
}

bool read_removed(Edits& edits, const Fields& fields) {
  if (fields.size() != 3) return false;
  const auto place = place_of(fields[0]);
  const auto query = address_number(fields[1], kDigits);
  const auto key = address_number(fields[2], kDigits);
  if (!place || !query || !key) return false;
  edits.remove.push_back({*place, *query, *key});
  return true;
}

bool read_hidden(Edits& edits, const Fields& fields) {
  const auto token = fields.size() == 2 ? token_of(fields) : std::nullopt;
  if (token) edits.hide.push_back(*token);
  return token.has_value();
}

bool read_swapped(Edits& edits, const Fields& fields) {
  if (fields.size() != 3) return false;
  const auto token = token_of(fields);
  const auto id = address_number(fields[2], kDigits);
  if (!token || !id) return false;
  edits.swap.push_back({*token, static_cast<std::int32_t>(*id)});
  return true;
}

bool read_mask(Edits& edits, const Fields& fields) {
  if (fields.size() != 3) return false;
  auto mask = part_of_model(fields[0]);
  const auto side = [](std::string_view text) {
    return text == "-1" ? std::optional<std::int64_t>(-1) : address_number(text, kDigits);
  };
  const auto left = side(fields[1]);
  const auto right = side(fields[2]);
  if (!mask || !left || !right) return false;
  mask->left = *left;
  mask->right = *right;
  edits.mask.push_back(*mask);
  return true;
}

struct Kind {
  std::string_view name;
  bool (*read)(Edits& edits, const Fields& fields);
};
constexpr Kind kKinds[] = {{"ablate", read_ablated},
                           {"remove", read_removed},
                           {"hide", read_hidden},
                           {"swap", read_swapped},
                           {"mask", read_mask}};

std::optional<Edits> edits_of(std::string_view text) {
  Edits edits;
  std::vector<std::string_view> seen;
  for (const std::string_view part : split(text, ';')) {
    const std::string_view name = part.substr(0, part.find(':'));
    const auto* const kind = std::ranges::find(kKinds, name, &Kind::name);
    if (kind == std::end(kKinds) || name.size() == part.size() ||
        std::ranges::find(seen, name) != seen.end())
      return {};
    seen.push_back(name);
    for (const std::string_view item : split(part.substr(name.size() + 1), ','))
      if (!kind->read(edits, split(item, ':'))) return {};
  }
  return edits;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  if (text.empty() || text.size() > kMostText) return {};
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = percent_byte(text, at);
    if (!byte && !is_plain(text[at])) return {};
    bytes += byte.value_or(text[at]);
    if (byte) at += 2;
  }
  return find_invalid_utf8(bytes) < 0 ? std::optional(bytes) : std::nullopt;
}

bool is_run_name(std::string_view text) {
  constexpr std::size_t kMostLetters = 40;
  return !text.empty() && text.size() <= kMostLetters && std::ranges::all_of(text, [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '_';
  });
}

}  // namespace

std::string run_id(std::string_view run) { return "run-" + std::string(run); }

std::optional<Versus> read_versus(std::string_view text) {
  constexpr std::string_view kText = "text:";
  constexpr std::string_view kModel = "model:";
  constexpr std::string_view kRun = "run:";
  if (text.starts_with(kText)) {
    auto other = percent_decoded(text.substr(kText.size()));
    return other ? std::optional(Versus{.text = std::move(other)}) : std::nullopt;
  }
  if (text.starts_with(kModel)) {
    auto name = percent_decoded(text.substr(kModel.size()));
    return name ? std::optional(Versus{.model = std::move(name)}) : std::nullopt;
  }
  if (text.starts_with(kRun)) {
    const std::string_view name = text.substr(kRun.size());
    return is_run_name(name) ? std::optional(Versus{.run = std::string(name)}) : std::nullopt;
  }
  if (const auto head = read_place(text)) return Versus{.head = head};
  const auto edits = edits_of(text);
  return edits ? std::optional(Versus{.edits = *edits}) : std::nullopt;
}

}  // namespace heed
