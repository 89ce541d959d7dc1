// The parts of an address after the heads, as used by view.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "heed/session.h"
#include "inspect/answers/view.h"

namespace heed {

/// How a part is read (false: invalid) and written (empty: omitted).
struct ViewPart {
  std::string_view name;
  std::string expected;
  std::function<bool(ViewAddress& view, std::string_view value)> read;
  std::function<std::string(const ViewAddress& view)> write;
};

/// In the order within addresses.
std::span<const ViewPart> view_parts();

inline constexpr std::size_t kPlaceDigits = 4;  // digits of a layer's or head's number
/// A number of at most this many digits, without a sign.
std::optional<std::int64_t> address_number(std::string_view text, std::size_t digits);

/// Letters, digits and marks that links do not escape.
bool is_plain(char letter);

/// The byte that `%5B` at this place of the text stands for; empty if there is none.
std::optional<char> percent_byte(std::string_view text, std::size_t at);

/// The number after this letter, as in L2; empty for another text.
std::optional<int> numbered(std::string_view text, char letter);
/// "cross.L2.H4", or "H4": missing parts are those of the place before, if there is one.
std::optional<ViewPlace> read_place(std::string_view part, const ViewPlace* before = nullptr);
/// "a, b or c"
template <typename Items, typename Name>
std::string listed(const Items& items, Name name) {
  std::string text;
  for (const auto& item : items) {
    const bool is_last = &item == &*std::prev(std::end(items));
    if (!text.empty()) text += is_last ? " or " : ", ";
    text += name(item);
  }
  return text;
}

/// False if it does not parse.
bool read_filter(ViewAddress& view, std::string_view text);
std::string filter_text(const ViewAddress& view);

/// What a view is compared with: one of the five.
struct Versus {
  std::optional<ViewPlace> head = {};
  Edits edits = {};
  std::optional<std::string> text = {};
  std::optional<std::string> model = {};  // reads the same text
  std::optional<std::string> run = {};    // another session, beside the first
};

/// The id of the session that `run` names.
std::string run_id(std::string_view run);

/// Nothing where it does not parse.
std::optional<Versus> read_versus(std::string_view text);

}  // namespace heed
