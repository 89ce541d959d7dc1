// A program of somebody who uses heed: README's example, and which heed it has.
#include <fmt/format.h>

#include "heed/heed.h"

int main() {
  const heed::Tensor x = heed::Tensor::zeros({1, 1, 2, 3});  // [B, H, T, D]
  const heed::Attended y = heed::attention({.q = x, .keys = {x, x}, .mask = heed::causal()});
  fmt::print("heed {}, a tensor of {} values\n", heed::version(), y.out.element_count());
}
