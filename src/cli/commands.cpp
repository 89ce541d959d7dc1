// The table of commands. A new one is a file with its `NAME_command`, declared and listed here.
#include <cstdlib>

#include "cli/command.h"
#include "cli/options/arguments.h"
#include "heed/base/threads.h"
#include "heed/ops/attention.h"

namespace heed::cli {

Command attend_command();
Command bench_command();
Command check_command();
Command explain_command();
Command generate_command();
Command look_command();
Command models_command();
Command serve_command();
Command tokenize_command();
Command train_command();

std::span<const Command> commands() {
  static const Command table[] = {
      look_command(),    serve_command(), generate_command(), train_command(),    attend_command(),
      explain_command(), bench_command(), check_command(),    tokenize_command(), models_command(),
  };
  return table;
}

void add_threads(CLI::App& app) {
  app.add_option_function<int>(
         "--threads", [](const int& count) { set_thread_count(count); },
         "threads to compute with (default: the CPUs that this process may use)")
      ->transform(number_of(1, 4096))
      ->type_name("N");
}

void add_kernel(CLI::App& app) {
  const auto force = [](const std::string& name) {
    const ConstView one(nullptr, DType::kF32, Shape{1, 1, 1, 1});
    plan_attention({.q = one, .keys = {.k = one, .v = one}, .kernel = name});  // throws: unknown
    setenv("HEED_FORCE", name.c_str(), 1);
  };
  app.add_option_function<std::string>("--kernel", force, "run this attention kernel and no other")
      ->type_name("NAME");
}

void add_model(CLI::App& app, std::string& model) {
  app.add_option("--model", model,
                 "a model folder, or a name looked up in $HEED_MODELS, ./models, $HF_HOME/hub and "
                 "the installed models (default: the built-in model)")
      ->type_name("M");
}

}  // namespace heed::cli
