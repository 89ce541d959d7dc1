// The functions of libfmt that attention calls, compiled into heed's library, so that programs that
// link it need no libfmt. FMT_HEADER_ONLY makes them inline, and this file is compiled so that its
// calls are not inlined.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

#include <string>

namespace heed {

/// Calls the templates, because only called templates are instantiated.
std::string every_kind_of_number(float one, double two, long double three, int four) {
  return fmt::format("{} {} {} {:L} {:L}", one, two, three, two, four);
}

}  // namespace heed
