#include "heed/mask.h"

#include <memory>
#include <string_view>

#include "c/given.h"
#include "c/guard.h"
#include "c/problem.h"  // IWYU pragma: keep (what heed_mask is)

namespace heed::c {
namespace {

/// Writes the mask that `make` returns, or null if it throws.
heed_status made(heed_mask** mask, std::string_view op, const auto& make) noexcept {
  if (mask != nullptr) *mask = nullptr;
  return guarded([&] {
    require_pointer(op, "mask", mask);
    *mask = std::make_unique<heed_mask>(heed_mask{make()}).release();
  });
}

heed_status composed(heed_mask** mask, std::string_view op, const heed_mask* a, const heed_mask* b,
                     const auto& compose) noexcept {
  return made(mask, op, [&] {
    require_pointer(op, "a", a);
    require_pointer(op, "b", b);
    return compose(a->mask, b->mask);
  });
}

}  // namespace
}  // namespace heed::c

using heed::c::composed;
using heed::c::made;
using heed::c::view_of;

void heed_mask_free(heed_mask* mask) { delete mask; }

heed_status heed_mask_band(int64_t left, int64_t right, heed_mask** mask) {
  return made(mask, "band", [&] { return heed::Mask::band({.left = left, .right = right}); });
}

heed_status heed_mask_causal(heed_mask** mask) {
  return made(mask, "causal", [] { return heed::Mask::causal(); });
}

heed_status heed_mask_segments(const heed_view* query_ids, const heed_view* key_ids,
                               heed_mask** mask) {
  return made(mask, "segments", [&] {
    const heed::View queries = view_of("segments", "query_ids", query_ids);
    if (key_ids == nullptr) return heed::Mask::segments(queries);
    return heed::Mask::segments(queries, view_of("segments", "key_ids", key_ids));
  });
}

heed_status heed_mask_prefix(const int64_t* lengths, int64_t count, heed_mask** mask) {
  return made(mask, "prefix", [&] {
    return heed::Mask::prefix(heed::c::integers_of("prefix", "lengths", {lengths, count}));
  });
}

heed_status heed_mask_keep(const heed_view* keep, heed_mask** mask) {
  return made(mask, "keep", [&] { return heed::Mask::keep(view_of("keep", "keep", keep)); });
}

heed_status heed_mask_blocks(const heed_view* layout, int64_t rows, int64_t keys,
                             heed_mask** mask) {
  return made(mask, "blocks", [&] {
    return heed::Mask::blocks(view_of("blocks", "layout", layout), {.rows = rows, .keys = keys});
  });
}

heed_status heed_mask_edges(const heed_view* row_starts, const heed_view* columns,
                            heed_mask** mask) {
  return made(mask, "edges", [&] {
    return heed::Mask::edges(view_of("edges", "row_starts", row_starts),
                             view_of("edges", "columns", columns));
  });
}

heed_status heed_mask_and(const heed_mask* a, const heed_mask* b, heed_mask** mask) {
  return composed(mask, "and", a, b, [](const auto& x, const auto& y) { return x & y; });
}

heed_status heed_mask_or(const heed_mask* a, const heed_mask* b, heed_mask** mask) {
  return composed(mask, "or", a, b, [](const auto& x, const auto& y) { return x | y; });
}
