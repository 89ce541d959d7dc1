// A user's program with heed: README's example, and heed's version.
#include <iostream>

#include "heed/heed.h"

int main() {
  const heed::Tensor x = heed::Tensor::zeros({1, 1, 2, 3});  // [B, H, T, D]
  const heed::Attended y = heed::attention({.q = x, .keys = {x, x}, .mask = heed::Mask::causal()});
  std::cout << "heed " << heed::version() << ", a tensor of " << y.out.element_count()
            << " values\n";
}
