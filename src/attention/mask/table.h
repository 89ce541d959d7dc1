// A boolean tensor, broadcast to four dimensions: what `keep` and `blocks` look things up in.
#pragma once

#include <memory>
#include <string_view>

#include "heed/mask.h"
#include "heed/tensor.h"

namespace heed {

/// What messages say of a table; the texts must outlive the rule.
struct TableNames {
  std::string_view mask;      // "keep"
  std::string_view argument;  // of the mask
  std::string_view legend;    // "[B, H, Tq, Tk]"
};

std::shared_ptr<const MaskRule> table(const ConstView& view, const TableNames& names);

}  // namespace heed
