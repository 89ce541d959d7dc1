// All of heed, for programs that use the library. Each header can also be included by itself.
#pragma once

#if __cplusplus < 202002L
#error "heed needs C++20: compile with -std=c++20"
#else

#include "heed/attention.h"
#include "heed/error.h"
#include "heed/generate.h"
#include "heed/look.h"
#include "heed/mask.h"
#include "heed/model.h"
#include "heed/observe.h"
#include "heed/operators.h"
#include "heed/ranks.h"
#include "heed/session.h"
#include "heed/tensor.h"
#include "heed/threads.h"
#include "heed/tokenizer.h"
#include "heed/train.h"

#endif
