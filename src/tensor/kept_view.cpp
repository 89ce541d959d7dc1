#include "tensor/kept_view.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heed {

KeptView kept(const ConstView& view) {
  if (!view.given()) return {};
  std::int64_t first = 0, last = 0;  // elements that the view reaches, from its own first one
  for (int axis = 0; axis < view.rank(); ++axis) {
    const std::int64_t reach = (view.dim(axis) - 1) * view.stride(axis);
    first += std::min<std::int64_t>(reach, 0);
    last += std::max<std::int64_t>(reach, 0);
  }
  const std::int64_t count = last - first + 1;
  if (count >= view.element_count()) {
    Tensor memory = Tensor::copy_of(view);
    const ConstView copy = memory;
    return {.memory = std::move(memory), .view = copy};
  }
  const auto size = static_cast<std::int64_t>(size_bytes(view.dtype()));
  Tensor memory = Tensor::empty({count}, view.dtype());
  auto* to = static_cast<char*>(memory.view().raw());
  std::memcpy(to, static_cast<const char*>(view.raw()) + first * size,
              static_cast<std::size_t>(count * size));
  const ConstView copy(to - first * size, view.dtype(), view.shape(), view.strides());
  return {.memory = std::move(memory), .view = copy};
}

}  // namespace heed
