// How the C interface sees memory: windows on tensors, and lists of numbers. They own nothing.
#ifndef HEED_C_VIEW_H
#define HEED_C_VIEW_H

#include <string.h>

#include "heed/c/error.h"

// NOLINTBEGIN(readability-identifier-naming): names as C writes them
#ifdef __cplusplus
extern "C" {
#endif

/// Element types; 0 is none of them. f16 is IEEE binary16, bf16 the upper half of a float.
enum {
  HEED_F64 = 1,
  HEED_F32 = 2,
  HEED_F16 = 3,
  HEED_BF16 = 4,
  HEED_I64 = 5,
  HEED_I32 = 6,
  HEED_I8 = 7,
  HEED_U8 = 8,
  HEED_BOOL = 9  // one byte, 0 or 1
};

#define HEED_MAX_RANK 8

/// A window on the caller's memory. Inputs are only read. All bytes 0 stands for "not given"; a
/// tensor with an extent of 0 is given, and needs no memory. This struct does not grow.
typedef struct heed_view {
  void* data;        // the element whose indices are all 0, aligned to its type
  int32_t dtype;     // HEED_F32, ...
  int32_t rank;      // 0 to HEED_MAX_RANK
  int32_t strided;   // 0: row-major, `strides` is not read; 1: as `strides` says
  int32_t reserved;  // 0
  int64_t shape[HEED_MAX_RANK];
  int64_t strides[HEED_MAX_RANK];  // in elements; 0 (broadcast) and below 0 in inputs, too
} heed_view;

/// Integers and numbers, copied by the call that is given them; all bytes 0: none.
typedef struct heed_integers {
  const int64_t* data;
  int64_t count;
} heed_integers;

typedef struct heed_numbers {
  const double* data;
  int64_t count;
} heed_numbers;

/// A row-major view; `rank` is at most HEED_MAX_RANK.
static inline heed_view heed_view_of(void* data, int32_t dtype, int32_t rank,
                                     const int64_t* shape) {
  heed_view view;
  int32_t axis;
  memset(&view, 0, sizeof view);
  view.data = data;
  view.dtype = dtype;
  view.rank = rank;
  for (axis = 0; axis < rank && axis < HEED_MAX_RANK; ++axis) view.shape[axis] = shape[axis];
  return view;
}

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)

#endif
