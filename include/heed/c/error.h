// Errors of the C interface: a code from every function, and the words for it.
#ifndef HEED_C_ERROR_H
#define HEED_C_ERROR_H

#include <stddef.h>
#include <stdint.h>

// NOLINTBEGIN(readability-identifier-naming): names as C writes them
#ifdef __cplusplus
extern "C" {
#endif

#define HEED_API __attribute__((visibility("default")))

/// What a function returns.
typedef int32_t heed_status;
enum {
  HEED_OK = 0,
  HEED_INVALID_ARGUMENT = 1,  // shapes, types, ranges; a pointer that is null
  HEED_UNSUPPORTED = 2,       // legal, but this library does not serve it
  HEED_NOT_FOUND = 3,         // a name that does not exist
  HEED_CORRUPT = 4,           // what a file holds; no function of this interface reads files yet
  HEED_IO = 5,                // the system refused; likewise
  HEED_FAILED = 6,            // the work itself failed: no memory
  HEED_INTERRUPTED = 7        // somebody asked to stop
};

/// What went wrong, as data. No text is null; what does not apply is "".
typedef struct heed_error {
  size_t size;  // of this struct, as the library has it
  heed_status code;
  const char* message;   // all of it in one line: "attention: k.shape[3] is 32, expected 64 (q's
                         // head size)"
  const char* op;        // "attention"
  const char* argument;  // the field: "k.shape[3]", "observations[0].k"
  const char* found;     // "32"; empty: not given
  const char* expected;  // "64 (q's head size)"
  const char* hint;      // a next step
} heed_error;

/// The last failure on this thread; with code HEED_OK while there was none. It stays as it is until
/// another call fails on this thread: success does not clear it. Never null. A language whose
/// threads wander between those of the system reads it before it gives up the thread.
HEED_API const heed_error* heed_last_error(void);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)

#endif
