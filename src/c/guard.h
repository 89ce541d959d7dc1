// Stops exceptions at the C border: turns them into a code and this thread's last error.
#pragma once

#include "heed/c.h"

namespace heed::c {

/// Call it inside a catch block: stores the exception for heed_last_error.
heed_status remember_exception() noexcept;

heed_status guarded(const auto& work) noexcept {
  try {
    work();
    return HEED_OK;
  } catch (...) {
    return remember_exception();
  }
}

}  // namespace heed::c
