#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "arrays.h"
#include "masks.h"

namespace heed::python {
namespace {

class CustomRule : public MaskRule {
 public:
  CustomRule(nb::callable tile, std::string name)
      : tile_(std::move(tile)), name_(std::move(name)) {}
  ~CustomRule() override {
    const nb::gil_scoped_acquire held;
    tile_.reset();
  }
  CustomRule(const CustomRule&) = delete;
  CustomRule& operator=(const CustomRule&) = delete;

  bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const override {
    std::uint64_t bit = 0;
    bits(place, {row, row + 1, key, key + 1}, &bit);
    return bit != 0;
  }
  TileClass tile(const MaskPlace& /*place*/, const MaskTile& /*tile*/) const override {
    return TileClass::kPartial;
  }
  void check(const MaskTarget& /*target*/) const override {}
  std::string describe() const override { return name_; }

  void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const override {
    const nb::gil_scoped_acquire held;
    const std::int64_t rows = tile.row_end - tile.row_begin;
    const std::int64_t keys = tile.key_end - tile.key_begin;
    const Borrowed answer = borrow(
        tile_(place.batch, place.head, tile.row_begin, tile.row_end, tile.key_begin, tile.key_end),
        "custom");
    const bool* const seen = answer.view.data<bool>();
    for (std::int64_t j = 0; j < keys; ++j) {
      by_key[j] = 0;
      for (std::int64_t i = 0; i < rows; ++i) by_key[j] |= std::uint64_t{seen[i * keys + j]} << i;
    }
  }

 private:
  nb::callable tile_;
  std::string name_;
};

}  // namespace

Mask custom_mask(nb::callable tile, std::string name) {
  return Mask(std::make_shared<CustomRule>(std::move(tile), std::move(name)));
}

}  // namespace heed::python
