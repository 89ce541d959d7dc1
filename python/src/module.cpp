// heed._core: the operators, for the Python modules beside it.
#include <nanobind/nanobind.h>

#include <string>

#include "arrays.h"
#include "attention.h"
#include "errors.h"
#include "heed/base/threads.h"
#include "heed/base/version.h"
#include "masks.h"
#include "operators.h"
#include "problem.h"
#include "seen.h"

NB_MODULE(_core, module) {
  namespace nb = nanobind;
  using namespace heed::python;
  // A script's own mask in a script's own global makes a circle through C++, which lasts until
  // exit.
  nb::set_leak_warnings(false);
  bind_errors(module);
  bind_arrays(module);
  bind_masks(module);
  bind_problem(module);
  bind_seen(module);
  bind_attention(module);
  bind_observers(module);
  bind_operators(module);
  module.attr("version") = nb::str(heed::version().data(), heed::version().size());
  module.def("thread_count", &heed::thread_count, "Threads that heed computes with.");
  module.def("set_thread_count", &heed::set_thread_count, nb::arg("count"),
             "Sets it for the whole process; 0 returns to the default.");
}
