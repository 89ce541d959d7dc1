// Which CPU figures were measured on.
#pragma once

#include <string>

namespace heed {

/// As the system names it ("AMD EPYC 9575F 64-Core Processor"), or "unknown CPU".
std::string cpu_name();

}  // namespace heed
