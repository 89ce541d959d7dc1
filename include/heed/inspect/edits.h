// Changes to a session before its pass runs again, as data.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heed/mask.h"
#include "heed/nn/run.h"

namespace heed {

struct Session;

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

/// The head's scores are multiplied before the softmax.
struct Temperature {
  Place place;
  double factor = 1;
  auto operator<=>(const Temperature&) const = default;
};

/// `by` is added to the score of a pair, after the temperature.
struct Steering {
  Place place;
  std::int64_t query = -1;  // -1: every query
  std::int64_t key = 0;
  double by = 0;
  auto operator<=>(const Steering&) const = default;
};

/// The head sees only what this mask lets through, too. `name` tells masks apart.
struct MaskedHead {
  Place place;
  std::string name;
  Mask mask;
  std::strong_ordering operator<=>(const MaskedHead& other) const;
  bool operator==(const MaskedHead& other) const { return std::is_eq(*this <=> other); }
};

/// A session of as many tokens, which has been run. `name` is its own.
struct OtherRun {
  std::string name;
  std::shared_ptr<const Session> session;
  auto operator<=>(const OtherRun&) const = default;
};

/// The head has the weights that it has in another run, by that run's q and k.
struct FrozenHead {
  Place place;
  OtherRun from;
  auto operator<=>(const FrozenHead&) const = default;
};

/// The head has the output that it has in another run.
struct PatchedHead {
  Place place;
  std::int64_t query = -1;  // -1: of every query
  OtherRun from;
  auto operator<=>(const PatchedHead&) const = default;
};

/// A part of a session's name: equal edits have equal text. Positions count tokens of the session
/// that is edited.
struct Edits {
  std::vector<Place> ablate = {};        // heads whose output is set to 0
  std::vector<RemovedEdge> remove = {};  // edges to mask
  std::vector<EditedToken> hide = {};    // keys hidden from every query in every layer
  std::vector<TokenSwap> swap = {};
  std::vector<AddedMask> mask = {};
  std::vector<Temperature> temperature = {};
  std::vector<Steering> steer = {};
  std::vector<MaskedHead> masked = {};
  std::vector<FrozenHead> freeze = {};
  std::vector<PatchedHead> patch = {};

  bool empty() const;
  bool operator==(const Edits&) const = default;
};

/// Sorted, each edit once; of one place one temperature, of one pair one steering.
Edits canonical(Edits edits);
/// The edits of both, canonical: what `first` does and then `then`. Of two swaps at one place, and
/// of two frozen or patched heads, the later one holds; a frozen head forgets what was done to its
/// scores before, an ablated one what was patched into it.
Edits combined(const Edits& first, const Edits& then);
/// "ablate=self.L2.H6;remove=self.L2.H6/197/67;hide=tokens/5;swap=tokens/3/431;mask=self.L1/3/0;
/// temperature=self.L2.H6/0.5;steer=self.L2.H6/-1/3/2;masked=self.L2.H6/NAME;
/// freeze=self.L2.H6/NAME;patch=self.L2.H6/-1/NAME" of canonical edits; empty of none.
std::string to_text(const Edits& edits);

}  // namespace heed
