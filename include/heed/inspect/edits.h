// Changes to a session before its pass runs again, as data.
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

/// The list of a session that holds a token: `tokens` (the text, or the output of an
/// encoder-decoder) or `key_tokens` (the source that it reads).
enum class TokenSide : std::uint8_t { kTokens, kKeyTokens };

struct EditedToken {
  TokenSide side = TokenSide::kTokens;
  std::int64_t position = 0;
  auto operator<=>(const EditedToken&) const = default;
};

/// Replaces a token by another.
struct TokenSwap {
  EditedToken at;
  std::int32_t id = 0;
  auto operator<=>(const TokenSwap&) const = default;
};

/// Masks the key for the query in this head; the rest of the row takes its weight.
struct RemovedEdge {
  Place place;
  std::int64_t query = 0;
  std::int64_t key = 0;
  auto operator<=>(const RemovedEdge&) const = default;
};

/// The queries of a stack (one layer, one head) see only this many keys to each side.
struct AddedMask {
  Stack stack = Stack::kSelf;
  std::optional<int> layer = {};
  std::optional<int> head = {};
  std::int64_t left = -1;  // as in Band; -1: all keys
  std::int64_t right = -1;
  auto operator<=>(const AddedMask&) const = default;
};

/// All edits. They are a part of a session's name: equal edits have equal text. Positions count
/// tokens of the session that is edited.
struct Edits {
  std::vector<Place> ablate = {};        // heads whose output is set to 0
  std::vector<RemovedEdge> remove = {};  // edges to mask
  std::vector<EditedToken> hide = {};    // keys hidden from every query in every layer
  std::vector<TokenSwap> swap = {};
  std::vector<AddedMask> mask = {};

  bool empty() const;
  bool operator==(const Edits&) const = default;
};

/// Sorted and without duplicates.
Edits canonical(Edits edits);
/// Both sets of edits, canonical; of two swaps at one place the later one wins.
Edits combined(const Edits& first, const Edits& then);
/// "ablate=self.L2.H6;remove=self.L2.H6/197/67;hide=tokens/5;swap=tokens/3/431;mask=self.L1/3/0"
/// for canonical edits; empty without edits.
std::string to_text(const Edits& edits);

}  // namespace heed
