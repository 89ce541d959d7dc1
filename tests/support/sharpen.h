// Random models whose tokens differ in probability.
#pragma once

#include "heed/models/model.h"

namespace heed::test {

/// Makes the matrices of a fresh model 8 times as large: far from its flat start.
inline void sharpen(Model& model) {
  for (Parameter* parameter : model.parameters())
    if (parameter->value.rank() == 2)
      for (std::int64_t i = 0; i < parameter->value.element_count(); ++i)
        parameter->value.data<float>()[i] *= 8;
}

}  // namespace heed::test
