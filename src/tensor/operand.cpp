#include "tensor/operand.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/wording.h"
#include "heed/error.h"
#include "tensor/text.h"
#include "tensor/views.h"

namespace heed {

std::string_view short_name(const Operand& operand) {
  return operand.name == "keys.k" || operand.name == "keys.v" ? operand.name.substr(5)
                                                              : operand.name;
}

void require_shape(std::string_view op, const Operand& operand, const Shape& wanted,
                   std::string_view legend) {
  if (!operand.view.given()) fail(op, operand.name, {}, fmt::format("{} = {}", legend, wanted));
  if (operand.view.shape() != wanted)
    fail(op, fmt::format("{}.shape", operand.name), to_string(operand.view.shape()),
         fmt::format("{} = {}", legend, wanted));
}

void require_type(std::string_view op, const Operand& operand, DType wanted, DType beside) {
  if (operand.view.dtype() != wanted)
    fail(op, operand.name, name(operand.view.dtype()),
         fmt::format("{} (q is {})", name(wanted), name(beside)));
}

void require_row_major(std::string_view op, const Operand& operand) {
  if (operand.view.element_count() != 0 && !operand.view.is_contiguous())
    fail(op, fmt::format("{}.strides", operand.name), to_string(operand.view.strides()),
         "row-major memory");
}

void require_memory(std::string_view op, const Operand& operand) {
  const ConstView& view = operand.view;
  if (view.element_count() == 0) return;
  if (view.raw() == nullptr) fail(op, fmt::format("{}.data", operand.name), "null", {});
  const auto past = reinterpret_cast<std::uintptr_t>(view.raw()) % size_bytes(view.dtype());
  if (past != 0)
    fail(op, operand.name,
         fmt::format("{} past a multiple of {}", number_of(past, "byte"), size_bytes(view.dtype())),
         fmt::format("elements of {} to be aligned", name(view.dtype())));
}

void require_apart(std::string_view op, const Operand& output, std::span<const Operand> others) {
  if (overlaps_itself(output.view))
    fail(
        op, fmt::format("{}.strides", output.name),
        fmt::format("{} for {}, which overlaps itself", output.view.strides(), output.view.shape()),
        "memory of its own for every element");
  for (const Operand& other : others)
    if (other.view.given() && overlap(output.view, other.view))
      fail(op, output.name, fmt::format("in the memory of {}", other.name), "memory of its own");
}

}  // namespace heed
