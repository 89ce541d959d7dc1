/* Goes in front of the system's write: files refuse every write after FULL_DISK_AFTER of them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int done;

static int is_file(int descriptor) {
  struct stat about;
  return fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
}

ssize_t write(int descriptor, const void* data, size_t bytes) {
  ssize_t (*const next)(int, const void*, size_t) =
      (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  const char* const most = getenv("FULL_DISK_AFTER");
  if (most != NULL && descriptor > 2 && is_file(descriptor) &&
      atomic_fetch_add(&done, 1) >= atoi(most)) {
    errno = ENOSPC;
    return -1;
  }
  return next(descriptor, data, bytes);
}
