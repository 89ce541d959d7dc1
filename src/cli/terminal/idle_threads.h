// What OpenMP's threads do between two loops.
#pragma once

namespace heed::cli {

/// libgomp's threads spin for milliseconds at the end of a loop. Where other programs want the
/// CPUs too, the spinning takes the time of the thread that is waited for. libgomp reads its
/// settings before main, so the program starts itself anew with short spinning, unless the user
/// chose (OMP_WAIT_POLICY, GOMP_SPINCOUNT). A host of the library keeps its own setting.
void spin_shortly(char** arguments);

}  // namespace heed::cli
