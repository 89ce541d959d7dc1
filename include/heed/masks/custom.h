// A mask of the caller's own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "heed/masks/mask.h"

namespace heed {

/// `visible` is the truth; `tile` says the same of a whole tile, faster, and must never contradict
/// it: kFull and kEmpty are promises, kPartial is always allowed (and is what an absent `tile`
/// says). Both are called from several threads at once, with the caller's rounding and treatment of
/// denormals. They may throw: the first exception ends the call and reaches its caller. They may
/// call heed's operators, which then run on that thread alone.
struct MaskFunctions {
  std::function<bool(const MaskPlace& place, std::int64_t row, std::int64_t key)> visible = {};
  std::function<TileClass(const MaskPlace& place, const MaskTile& tile)> tile = {};
  std::string name = "custom";  // as `describe` prints it
};

Mask custom(MaskFunctions functions);

}  // namespace heed
