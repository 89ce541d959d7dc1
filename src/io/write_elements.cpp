#include "io/write_elements.h"

#include "heed/tensor.h"

namespace heed {

void write_elements(AtomicFile& file, const ConstView& view, DType dtype) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  if (view.element_count() == 0) return;
  const auto count = static_cast<std::size_t>(view.element_count());
  if (view.dtype() == dtype && view.is_contiguous()) {
    file.write(view.raw(), count * size_bytes(dtype));
  } else if (count * sizeof(double) <= kPieceBytes) {
    const Tensor piece = Tensor::converted(view, dtype);
    file.write(piece.view().raw(), count * size_bytes(dtype));
  } else if (view.dim(0) == 1) {
    write_elements(file, view.select(0, 0), dtype);
  } else {
    const std::int64_t middle = view.dim(0) / 2;
    write_elements(file, view.slice(0, 0, middle), dtype);
    write_elements(file, view.slice(0, middle, view.dim(0)), dtype);
  }
}

}  // namespace heed
