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

}  // namespace heed
