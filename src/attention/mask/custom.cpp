#include "heed/error.h"
#include "heed/mask.h"

namespace heed {
namespace {

class CustomRule : public MaskRule {
 public:
  explicit CustomRule(MaskFunctions functions) : functions_(std::move(functions)) {}

  bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const override {
    return functions_.visible(place, row, key);
  }
  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    return functions_.tile ? functions_.tile(place, tile) : TileClass::kPartial;
  }
  void check(const MaskTarget&) const override {}
  std::string describe() const override { return functions_.name; }

 private:
  MaskFunctions functions_;
};

}  // namespace

Mask Mask::custom(MaskFunctions functions) {
  if (!static_cast<bool>(functions.visible)) fail("custom", "visible", {}, "a function");
  return Mask(std::make_shared<CustomRule>(std::move(functions)));
}

}  // namespace heed
