// What can be changed of a session before its pass runs again, as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/nn/run.h"

namespace heed {

/// One head's attention.
struct Place {
  Stack stack = Stack::kSelf;
  int layer = 0;
  int head = 0;
  auto operator<=>(const Place&) const = default;
};

/// Which list of a session a token stands in: `tokens` (the text, or what an encoder-decoder
/// writes) or `key_tokens` (the source that it reads).
enum class TokenSide : std::uint8_t { kTokens, kKeyTokens };

struct EditedToken {
  TokenSide side = TokenSide::kTokens;
  std::int64_t position = 0;
  auto operator<=>(const EditedToken&) const = default;
};

/// Another token in a token's place.
struct TokenSwap {
  EditedToken at;
  std::int32_t id = 0;
  auto operator<=>(const TokenSwap&) const = default;
};

/// The key is masked for the query in this head; the rest of the row takes its weight.
struct RemovedEdge {
  Place place;
  std::int64_t query = 0;
  std::int64_t key = 0;
  auto operator<=>(const RemovedEdge&) const = default;
};

/// Queries of a stack (of one layer, of one head) see so many keys to each side only.
struct AddedMask {
  Stack stack = Stack::kSelf;
  std::optional<int> layer = {};
  std::optional<int> head = {};
  std::int64_t left = -1;  // as Band; -1: all of them
  std::int64_t right = -1;
  auto operator<=>(const AddedMask&) const = default;
};

/// A part of a session's name: equal edits have equal text. Positions count tokens of the session
/// that is edited.
struct Edits {
  std::vector<Place> ablate = {};        // heads whose output is 0
  std::vector<RemovedEdge> remove = {};  // edges
  std::vector<EditedToken> hide = {};    // keys that nobody sees, in any layer
  std::vector<TokenSwap> swap = {};
  std::vector<AddedMask> mask = {};

  bool empty() const;
  bool operator==(const Edits&) const = default;
};

/// Sorted, each edit once.
Edits canonical(Edits edits);
/// The edits of both, canonical; of two swaps at one place the later one holds.
Edits combined(const Edits& first, const Edits& then);
/// "ablate=self.L2.H6;remove=self.L2.H6/197/67;hide=tokens/5;swap=tokens/3/431;mask=self.L1/3/0" of
/// canonical edits; empty of none.
std::string to_text(const Edits& edits);

}  // namespace heed
