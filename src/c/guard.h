// Stops exceptions at the C border: turns them into a code and this thread's last error.
#pragma once

#include "heed/c.h"

namespace heed::c {

/// Call it inside a catch block: stores the exception for heed_last_error.
heed_status remember_exception() noexcept;

template <typename Work>
heed_status guarded(const Work& work) noexcept {
  try {
    work();
    return HEED_OK;
  } catch (...) {
    return remember_exception();
  }
}

}  // namespace heed::c
