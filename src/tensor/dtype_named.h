#pragma once

#include <algorithm>
#include <string_view>

#include "heed/dtype.h"

namespace heed {

/// The type that users write so; whoever reads their words has checked that there is one.
inline DType dtype_named(std::string_view name) {
  return std::ranges::find(kDTypes, name, &DTypeInfo::name)->dtype;
}

}  // namespace heed
