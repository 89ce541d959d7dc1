#include "heed/c/library.h"

#include "c/given.h"
#include "c/guard.h"
#include "heed/threads.h"
#include "heed/version.h"

using heed::c::guarded;

const char* heed_version() { return heed::version().data(); }  // of a literal: it ends with a 0

heed_status heed_thread_count(int32_t* count) {
  return guarded([&] {
    heed::c::require_pointer("thread_count", "count", count);
    *count = heed::thread_count();
  });
}

heed_status heed_set_thread_count(int32_t count) {
  return guarded([&] { heed::set_thread_count(count); });
}
