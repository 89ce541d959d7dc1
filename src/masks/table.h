// A boolean tensor, broadcast to four dimensions: what `keep` and `blocks` look things up in.
#pragma once

#include <memory>
#include <string_view>

#include "heed/masks/mask.h"
#include "heed/tensor/view.h"

namespace heed {

/// `mask` and `legend` ("[B, H, Tq, Tk]") stand in messages and must outlive the rule.
std::shared_ptr<const MaskRule> table(const ConstView& view, std::string_view mask,
                                      std::string_view legend);

}  // namespace heed
