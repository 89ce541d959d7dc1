// Errors of a callee in the words of its caller.
#pragma once

#include "heed/error.h"

namespace heed {

/// Runs `work`; an error of its own passes through `reword`, which changes the parts.
template <typename Work, typename Reword>
auto reworded(const Work& work, const Reword& reword) {
  try {
    return work();
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    reword(parts);
    throw Error(std::move(parts));
  }
}

}  // namespace heed
