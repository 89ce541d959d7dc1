// All of heed, for programs that use the library. Each header can also be included by itself.
#pragma once

#if __cplusplus < 202002L
#error "heed needs C++20: compile with -std=c++20"
#else

#include "heed/attention.h"
#include "heed/dtype.h"
#include "heed/error.h"
#include "heed/generate/generate.h"
#include "heed/inspect/arrays.h"
#include "heed/inspect/edits.h"
#include "heed/inspect/heads.h"
#include "heed/inspect/images.h"
#include "heed/inspect/look.h"
#include "heed/inspect/session.h"
#include "heed/inspect/units.h"
#include "heed/inspect/view.h"
#include "heed/io/files.h"
#include "heed/mask.h"
#include "heed/models/model.h"
#include "heed/models/registry.h"
#include "heed/models/sentence.h"
#include "heed/nn/kv_cache.h"
#include "heed/nn/run.h"
#include "heed/observe.h"
#include "heed/observers.h"
#include "heed/ops/linear_attention.h"
#include "heed/ops/operators.h"
#include "heed/ranks/ranks.h"
#include "heed/tensor.h"
#include "heed/text/tokenizer.h"
#include "heed/threads.h"
#include "heed/train/train.h"
#include "heed/version.h"

#endif
