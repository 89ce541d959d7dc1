// Reads and checks the tensors that define masks.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "heed/mask.h"
#include "heed/tensor.h"

namespace heed {

/// The elements of an i32 or i64 view, row-major; `mask` and `what` appear in the error.
std::vector<std::int64_t> integers(std::string_view mask, std::string_view what,
                                   const ConstView& view);

/// Names of a table in error messages; the texts must outlive the rule.
struct TableNames {
  std::string_view mask;      // "keep"
  std::string_view argument;  // the mask's argument
  std::string_view legend;    // "[B, H, Tq, Tk]"
};

std::shared_ptr<const MaskRule> table(const ConstView& view, const TableNames& names);

}  // namespace heed
