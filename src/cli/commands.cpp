// The table of commands. A new one is a file with its `NAME_command`, declared and listed here.
#include <cstdlib>

#include "cli/command.h"
#include "heed/attention.h"
#include "heed/threads.h"

namespace heed::cli {

Command attend_command();
Command bench_command();
Command check_command();
Command convert_command();
Command embed_command();
Command explain_command();
Command generate_command();
Command look_command();
Command models_command();
Command serve_command();
Command tokenize_command();
Command train_command();

std::span<const Command> commands() {
  static const Command table[] = {
      look_command(),     serve_command(),   generate_command(), train_command(),
      attend_command(),   explain_command(), bench_command(),    check_command(),
      tokenize_command(), embed_command(),   models_command(),   convert_command(),
  };
  return table;
}

Option threads_option() {
  return {.name = "--threads",
          .to = [](int count) { set_thread_count(count); },
          .type = "N",
          .least = 1,
          .most = 4096,
          .help = "threads to compute with (default: the CPUs that this process may use)"};
}

Option kernel_option() {
  return {.name = "--kernel",
          .to =
              [](const std::string& name) {
                const ConstView one(nullptr, DType::kF32, Shape{1, 1, 1, 1});
                // Throws when the name is unknown.
                plan_attention({.q = one, .keys = {.k = one, .v = one}, .kernel = name});
                setenv("HEED_FORCE", name.c_str(), 1);
              },
          .type = "NAME",
          .help = "run this attention kernel and no other"};
}

Option model_option(std::string& model) {
  return {.name = "--model",
          .to = &model,
          .type = "M",
          .help =
              "a model folder, or a name looked up in $HEED_MODELS, ./models, $HF_HOME/hub and "
              "the installed models (default: a built-in model; look and serve choose the one that "
              "reads the texts given)"};
}

}  // namespace heed::cli
