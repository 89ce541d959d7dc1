// Arrays that come by the buffer protocol.
#pragma once

#include <optional>

#include "arrays.h"

namespace heed::python {

/// Nothing where the object has no buffer, as NumPy's arrays of ml_dtypes have none. Elements are
/// what the buffer says, or `type` where that is given.
std::optional<Borrowed> from_buffer(const char* argument, nb::handle object,
                                    std::optional<DType> type = {});

}  // namespace heed::python
