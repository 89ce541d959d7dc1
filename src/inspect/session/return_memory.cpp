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
  mallopt(M_ARENA_MAX, 1);  // malloc_trim returns the end of the main arena
#endif
}

}  // namespace heed
