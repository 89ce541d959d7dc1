// The border that no exception crosses: what is thrown becomes a code and this thread's last error.
#pragma once

#include "heed/c.h"

namespace heed::c {

/// To be called inside a catch block: keeps what was thrown for heed_last_error.
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
