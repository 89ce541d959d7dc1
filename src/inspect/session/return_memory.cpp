#include "inspect/session/return_memory.h"

#include <malloc.h>

#include "tensor/memory.h"

namespace heed {

void return_memory() {
  free_kept_blocks();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void share_memory() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);  // the one whose end malloc_trim gives back
#endif
}

}  // namespace heed
