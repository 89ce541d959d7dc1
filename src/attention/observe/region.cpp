#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "heed/error.h"
#include "heed/observe.h"

namespace heed {
namespace {

std::int64_t resolved_end(const char* what, std::int64_t begin, std::int64_t end,
                          std::int64_t count) {
  const std::int64_t resolved = end == -1 ? count : end;
  if (0 > begin || begin > resolved || resolved > count)
    fail("region", what, fmt::format("[{}, {})", begin, resolved),
         fmt::format("at most [0, {})", count));
  return resolved;
}

}  // namespace

Region Region::resolved(const ObservedShape& shape) const {
  Region region = *this;
  region.batch_end = resolved_end("batches", batch_begin, batch_end, shape.batch);
  region.head_end = resolved_end("heads", head_begin, head_end, shape.heads);
  region.row_end = resolved_end("rows", row_begin, row_end, shape.query_length);
  region.key_end = resolved_end("keys", key_begin, key_end, shape.key_length);
  return region;
}

bool Region::meets(const ObservedRows& rows) const {
  return batch_begin <= rows.batch && rows.batch < batch_end && head_begin <= rows.head &&
         rows.head < head_end && row_begin < rows.row_end && rows.row_begin < row_end;
}

TileParts parts_of(ObservedValue value) {
  require_enumerator("observe", "value", value, ObservedValue::kBeforeMask);
  return {.scores = value == ObservedValue::kScores,
          .before_mask = value != ObservedValue::kWeights && value != ObservedValue::kScores};
}

const float* values_of(const ObservedTile& tile, ObservedValue value) {
  const float* const arrays[] = {tile.weights, tile.scores, tile.before_softcap, tile.before_bias,
                                 tile.before_mask};
  return arrays[static_cast<std::size_t>(value)];
}

}  // namespace heed
