// The functions of libfmt that attention calls, compiled into its library, so that a program that
// links it needs no libfmt: in FMT_HEADER_ONLY they are inline, and this file is compiled so that
// no call of them is.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

#include <string>

namespace heed {

/// Calls the templates, which are made only where they are called.
std::string every_kind_of_number(float one, double two, long double three, int four) {
  return fmt::format("{} {} {} {:L} {:L}", one, two, three, two, four);
}

}  // namespace heed
