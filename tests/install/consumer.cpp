// A program of somebody who uses heed: makes a tensor and prints which heed it has.
#include <fmt/format.h>

#include "heed/base/version.h"
#include "heed/tensor/tensor.h"

int main() {
  const heed::Tensor tensor = heed::Tensor::zeros({2, 3});
  fmt::print("heed {}, a tensor of {} values\n", heed::version(), tensor.element_count());
}
