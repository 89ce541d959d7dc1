// A second owner of what a session keeps.
#pragma once

#include "heed/inspect/session.h"

namespace heed {

/// The same arrays, not copies of them.
Session shared(const Session& session);
LayerAttention shared(const LayerAttention& layer);

/// The tensor as f32: itself, or a wider copy.
Tensor widened(const Tensor& tensor);

}  // namespace heed
