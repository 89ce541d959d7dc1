#include "c/answer.h"

#include "heed/error.h"

namespace heed::c {

void check_memory(std::string_view op, const Place& place, std::span<const Operand> taken) {
  require_memory(op, place.operand());
  require_apart(op, place.operand(), taken);
}

void check_fits(std::string_view op, const Place& place, const Shape& shape, DType dtype) {
  if (place.into.dtype() != dtype)
    fail(op, place.name, heed::name(place.into.dtype()), heed::name(dtype));
  if (place.into.shape() != shape)
    fail(op, place.name + ".shape", to_string(place.into.shape()), to_string(shape));
}

}  // namespace heed::c
