#include "heed/threads.h"

namespace heed {

std::string_view version() { return HEED_VERSION; }

}  // namespace heed
