// What one sweep over a head finds, for those who ask before its layer's statistics are there.
#pragma once

#include <memory>
#include <optional>

#include "inspect/map/coarse.h"
#include "inspect/map/margins.h"
#include "inspect/session/cancel.h"

namespace heed {

struct SweptHead {
  Margins margins;
  std::optional<CoarseHead> coarse;  // where the text is long enough to have coarse levels

  std::int64_t bytes() const;
};

/// On all cores; `check` is called on several threads, and throws to stop.
SweptHead sweep_head(const LayerAttention& layer, std::int64_t head, const SweepStop::Check& check);

}  // namespace heed
