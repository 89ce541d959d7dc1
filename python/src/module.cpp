// heed._core: the library, used by the package's Python modules.
#include <nanobind/nanobind.h>

#include "arrays.h"
#include "base/parallel.h"
#include "bind.h"
#include "computing.h"
#include "errors.h"
#include "heed/threads.h"
#include "masks.h"
#include "model.h"
#include "problem.h"
#include "seen.h"
#include "session.h"

namespace heed::python {
namespace {

void bind_process(nb::module_& module) {
  module.attr("version") = nb::str(version().data(), version().size());
  module.attr("most_threads") = kMostThreads;
  module.def("thread_count", &thread_count, "Threads that heed computes with.");
  module.def("set_thread_count", &set_thread_count, nb::arg("count"),
             "Sets it for the whole process; 0 returns to the default.");
}

}  // namespace
}  // namespace heed::python

NB_MODULE(_core, module) {
  using namespace heed::python;
  // A script's custom mask in a global variable of the script makes a cycle through C++, which
  // lasts until exit.
  nb::set_leak_warnings(false);
  bind_errors(module);
  bind_arrays(module);
  bind_masks(module);
  bind_problem(module);
  bind_seen(module);
  bind_attention(module);
  bind_attention_of_tensors(module);
  bind_observers(module);
  bind_operators(module);
  bind_process(module);
  bind_computing(module);
  bind_model(module);
  bind_tokenizer(module);
  bind_session(module);
  bind_session_arrays(module);
  bind_session_looks(module);
  bind_session_edits(module);
  bind_session_files(module);
  bind_page_answers(module);
  bind_generation(module);
  bind_training(module);
  bind_program(module);
}
