// Problems that use every feature expressible as data, each for C++ and for C.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "c/as_c.h"
#include "heed/mask.h"
#include "support/key_forms.h"
#include "support/random_tensor.h"

namespace heed::test {

/// B 2, H 4, G 2, Tq 9, Tk 13, D 8, Dv 6.
struct CCase {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<Tensor> memory = {};  // what `args` looks at
  HeldKeys keys = {};
  AttentionArgs args = {};
  HeldMask mask = nullptr;

  ConstView hold(Tensor tensor) {
    memory.push_back(std::move(tensor));
    return memory.back();
  }
  /// The same mask of both languages.
  void set(const Mask& in_cpp, heed_mask* in_c) {
    args.mask = in_cpp;
    mask.reset(in_c);
  }
  heed_attention_args in_c() const { return as_c(args, mask.get()); }
};

inline CCase plain_case(std::string name, DType dtype = DType::kF32) {
  CCase made{.name = std::move(name), .dtype = dtype};
  made.args.q = made.hold(random_tensor({2, 4, 9, 8}, 1, dtype));
  made.args.keys.k = made.hold(random_tensor({2, 2, 13, 8}, 2, dtype));
  made.args.keys.v = made.hold(random_tensor({2, 2, 13, 6}, 3, dtype));
  return made;
}

/// Every kind of score, mask, extent and form of keys.
std::vector<CCase> c_cases();

}  // namespace heed::test
