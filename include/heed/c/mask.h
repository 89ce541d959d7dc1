// Who may attend to whom, as data. True means *may attend*.
#ifndef HEED_C_MASK_H
#define HEED_C_MASK_H

#include "heed/c/view.h"

// NOLINTBEGIN(readability-identifier-naming): names as C writes them
#ifdef __cplusplus
extern "C" {
#endif

/// A rule that never changes: any number of calls, on any threads, may read it. Each function
/// writes a new mask, or null where it fails; the caller frees it once. The masks that an `and` or
/// an `or` was made of may be freed before it. Query i stands at position p_i = q_offset + i, key j
/// at p_j = key_offset + j (heed_attention_args).
typedef struct heed_mask heed_mask;

/// Null is let pass.
HEED_API void heed_mask_free(heed_mask* mask);

/// Visible where p_i - left <= p_j <= p_i + right; -1 is no bound. left >= -1, right >= -1.
HEED_API heed_status heed_mask_band(int64_t left, int64_t right, heed_mask** mask);

/// The band (-1, 0): no key after the query's own position. The last query sees every key unless
/// q_offset says otherwise; q_offset 0 aligns top-left, as PyTorch's `is_causal` does.
HEED_API heed_status heed_mask_causal(heed_mask** mask);

/// Several documents in one sequence: visible where query and key are of the same segment. Ids are
/// i32 or i64, [T] for every batch or [B, T], and are copied. `key_ids` null: the queries' (self-
/// attention).
HEED_API heed_status heed_mask_segments(const heed_view* query_ids, const heed_view* key_ids,
                                        heed_mask** mask);

/// Visible where p_j < lengths[b]; `count` lengths, which are copied: one a batch, or one for all.
/// Causal `or` prefix is the prefix language model's mask.
HEED_API heed_status heed_mask_prefix(const int64_t* lengths, int64_t count, heed_mask** mask);

/// Visible where `keep` (bool or u8, not 0) is true; broadcasts right-aligned to [B, H, Tq, Tk].
/// Its columns are keys, not slots. The memory must outlive the mask.
HEED_API heed_status heed_mask_keep(const heed_view* keep, heed_mask** mask);

/// Visible where layout[.., i / rows, j / keys] (bool or u8) is true; ceil(Tq / rows) by ceil(Tk /
/// keys) entries, broadcast over batch and heads. The memory must outlive the mask.
HEED_API heed_status heed_mask_blocks(const heed_view* layout, int64_t rows, int64_t keys,
                                      heed_mask** mask);

/// Visible along the edges of a graph in compressed sparse rows: query i sees the keys
/// columns[row_starts[i]] .. columns[row_starts[i + 1] - 1], which rise strictly. `row_starts` has
/// Tq + 1 entries; both i32 or i64, and copied.
HEED_API heed_status heed_mask_edges(const heed_view* row_starts, const heed_view* columns,
                                     heed_mask** mask);

/// Visible where both are, and where one of them is.
HEED_API heed_status heed_mask_and(const heed_mask* a, const heed_mask* b, heed_mask** mask);
HEED_API heed_status heed_mask_or(const heed_mask* a, const heed_mask* b, heed_mask** mask);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)

#endif
