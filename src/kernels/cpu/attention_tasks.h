// Splits a forward pass into tasks for the threads.
#pragma once

#include "kernels/cpu/attention_tile.h"

namespace heed::kernels {

using BlockKernel = void (*)(const AttentionProblem&, const AttentionForward&, const RowBlock&,
                             TileScratch&);

void run_tasks(const AttentionProblem& problem, const AttentionForward& forward,
               BlockKernel kernel);

}  // namespace heed::kernels
