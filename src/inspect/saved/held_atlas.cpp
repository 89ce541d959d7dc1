#include <algorithm>

#include "inspect/map/tiles.h"
#include "inspect/saved/held.h"
#include "text/pipeline/base64.h"

namespace heed {
namespace {

constexpr std::int64_t kCells = 67;  // per side, as drawn by the page
constexpr std::int64_t kMostBytes = std::int64_t{4} << 20;
constexpr std::int64_t kMostEntries = std::int64_t{1} << 33;  // 5 to 10 s on one core

// The remaining budget.
struct Budget {
  std::int64_t bytes = kMostBytes;
  std::int64_t entries = kMostEntries;

  bool take(const MatrixSize& size, const AtlasCut& cut) {
    bytes -= cut.cells();
    entries -= size.queries * size.keys;
    return bytes >= 0 && entries >= 0;
  }
};

HeldAtlasAnswer atlas_of(const LiveSession& session, const HeldStackAnswer& held, Budget& budget) {
  const StackShape& shape = session.session().at(held.stack).shape;
  const MatrixSize size = session.size(held.stack);
  const AtlasCut cut = atlas_cut(size, kCells);
  HeldAtlasAnswer atlas{
      .stack = held.stack, .block = cut.block, .rows = cut.rows, .columns = cut.columns};
  for (int layer = 0; layer < shape.layers; ++layer) {
    if (!session.session().keeps(shape, layer)) continue;
    const std::vector<int>& own = held.layers[static_cast<std::size_t>(layer)];
    for (int head = 0; head < shape.heads; ++head) {
      if (std::ranges::find(own, head) != own.end() || !budget.take(size, cut)) continue;
      atlas.heads.emplace(
          std::to_string(layer * shape.heads + head),
          encode_base64(thumbnail(whole_tile(session, {held.stack, layer, head}), size, cut)));
    }
  }
  return atlas;
}

}  // namespace

std::vector<HeldAtlasAnswer> held_atlas(const LiveSession& session,
                                        const std::vector<HeldStackAnswer>& held) {
  std::vector<HeldAtlasAnswer> atlas;
  Budget budget;
  for (const HeldStackAnswer& stack : held) {
    HeldAtlasAnswer one = atlas_of(session, stack, budget);
    if (!one.heads.empty()) atlas.push_back(std::move(one));
  }
  return atlas;
}

}  // namespace heed
