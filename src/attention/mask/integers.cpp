#include "attention/mask/integers.h"

#include <fmt/format.h>

#include "heed/error.h"
#include "heed/tensor.h"

namespace heed {

std::vector<std::int64_t> integers(std::string_view mask, std::string_view what,
                                   const ConstView& view) {
  if (!view.given()) fail(mask, what, {}, "i64 or i32");
  if (view.dtype() != DType::kI64 && view.dtype() != DType::kI32)
    fail(mask, what, name(view.dtype()), "i64 or i32");
  if (view.raw() == nullptr && view.element_count() != 0)
    fail(mask, fmt::format("{}.data", what), "null", {});
  const Tensor copy = Tensor::copy_of(view);
  std::vector<std::int64_t> values(static_cast<std::size_t>(copy.element_count()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] =
        copy.dtype() == DType::kI64 ? copy.data<std::int64_t>()[i] : copy.data<std::int32_t>()[i];
  return values;
}

}  // namespace heed
