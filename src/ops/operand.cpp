#include "ops/operand.h"

#include <cstdint>

#include "heed/base/error.h"
#include "ops/overlap.h"
#include "tensor/shape_text.h"

namespace heed {

void require_shape(std::string_view op, const Operand& operand, const Shape& wanted,
                   std::string_view legend) {
  require(operand.view.given(), "{}: {} is not given", op, operand.name);
  require(operand.view.shape() == wanted, "{}: {}.shape is {} but {} {} is expected", op,
          operand.name, operand.view.shape(), wanted, legend);
}

void require_type(std::string_view op, const Operand& operand, DType wanted, DType beside) {
  require(operand.view.dtype() == wanted, "{}: {} is {} but q is {}: {} is expected", op,
          operand.name, name(operand.view.dtype()), name(beside), name(wanted));
}

void require_row_major(std::string_view op, const Operand& operand) {
  require(operand.view.element_count() == 0 || operand.view.is_contiguous(),
          "{}: {} has strides {}: row-major memory is expected", op, operand.name,
          operand.view.strides());
}

void require_memory(std::string_view op, const Operand& operand) {
  const ConstView& view = operand.view;
  if (view.element_count() == 0) return;
  require(view.raw() != nullptr, "{}: {} has no memory", op, operand.name);
  const auto past = reinterpret_cast<std::uintptr_t>(view.raw()) % size_bytes(view.dtype());
  require(past == 0, "{}: {} lies {} bytes past a multiple of {}: elements of {} are aligned to it",
          op, operand.name, past, size_bytes(view.dtype()), name(view.dtype()));
}

void require_apart(std::string_view op, const Operand& output, std::span<const Operand> others) {
  require(!overlaps_itself(output.view),
          "{}: {} of shape {} with strides {} overlaps itself: every element needs its own memory",
          op, output.name, output.view.shape(), output.view.strides());
  for (const Operand& other : others)
    require(!other.view.given() || !overlap(output.view, other.view),
            "{}: {} shares memory with {}: an output needs memory of its own", op, output.name,
            other.name);
}

}  // namespace heed
