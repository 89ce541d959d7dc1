// heed for C, and for every language that calls C: attention, its gradients, and every question
// about its weights. Link -lheed_c (pkg-config heed-c; CMake: heed::c). docs/c.md has the whole.
//
// Every function returns a code, HEED_OK or what went wrong, and heed_last_error says the rest. No
// exception leaves the library, nothing is printed, and the process is never ended. The caller owns
// all memory that results are written to. Everything may be called from several threads at once.
//
// Structs: all bytes 0 is the default of every field but `size`, which holds sizeof of the struct;
// that is how the library knows which fields the caller's heed.h had. Fields named enumerations are
// int32_t, so that their size depends on no compiler.
//
// ABI: within one soname (libheed_c.so.0) functions, enumerators and fields at the end of structs
// are added, never changed or removed: a program that linked an older heed goes on unchanged.
#ifndef HEED_C_H
#define HEED_C_H

#include "heed/c/attention.h"
#include "heed/c/error.h"
#include "heed/c/gradients.h"
#include "heed/c/library.h"
#include "heed/c/mask.h"
#include "heed/c/observe.h"
#include "heed/c/plan.h"
#include "heed/c/view.h"

#endif
