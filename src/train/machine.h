// The machine that a run stands on: losses are the same bit for bit on one CPU and thread count.
#pragma once

#include <string>

namespace heed {

/// As the system names it ("AMD EPYC 9V74 80-Core Processor").
std::string machine_name();

}  // namespace heed
