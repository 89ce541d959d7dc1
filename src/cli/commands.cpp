// The table of commands. To add one, write a file with `NAME_command`, and declare and list it
// here.
#include <fmt/format.h>

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
Command evaluate_command();
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
      evaluate_command(),
  };
  return table;
}

Option threads_option() {
  return {.name = "--threads",
          .to = [](int count) { set_thread_count(count); },
          .type = "N",
          .help = "threads to compute with (default: the CPUs that this process may use)",
          .least = 1,
          .most = 4096};
}

Option activations_option(bool& by_bytes) {
  return {.name = "--activations",
          .to = [&by_bytes](const std::string& name) { by_bytes = name == "q8"; },
          .help =
              "of a model with quantised weights: multiply them with f32 (default), or "
              "faster with activations rounded to 8 bits (heed check model prints the error)",
          .words = {"f32", "q8"}};
}

Option kernel_option() {
  return {"--kernel",
          [](const std::string& name) {
            const ConstView one(nullptr, DType::kF32, Shape{1, 1, 1, 1});
            // Throws if the name is unknown.
            plan_attention({.q = one, .keys = {.k = one, .v = one}, .kernel = name});
            setenv("HEED_FORCE", name.c_str(), 1);
          },
          "NAME", "run this attention kernel and no other"};
}

Option model_option(std::string& model) {
  return {"--model", &model, "M",
          "a model folder, a GGUF file, or a name looked up in $HEED_MODELS, ./models, the "
          "stores of Hugging Face, Ollama, LM Studio and llama.cpp and the installed models "
          "(default: a built-in model; look and serve choose the one that reads the texts "
          "given)"};
}

namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kIndent = 30;  // column of the descriptions

// `text` after the name, with its lines aligned.
std::string entry(const std::string& name, const std::string& text) {
  std::string line = fmt::format("  {:<{}}", name, kIndent - 2);
  std::string lines;
  if (name.size() + 2 >= kIndent) {
    lines = line + "\n";
    line = std::string(kIndent, ' ');
  }
  line += text;
  while (line.size() > kWidth) {
    const std::size_t space = line.rfind(' ', kWidth);
    if (space == std::string::npos || space <= kIndent) break;
    lines += line.substr(0, space) + "\n";
    line = std::string(kIndent, ' ') + line.substr(space + 1);
  }
  return lines + line + "\n";
}

std::string entry(const Option& option) {
  std::string name = option.name;
  const std::string type = option.type_name();
  if (!type.empty() && type != name) name += " " + type;
  if (option.list == List::kInARow && option.takes_several()) name += " ...";
  std::string text = option.help;
  if (!option.needs.empty()) text = fmt::format("with {}: {}", option.needs, text);
  if (option.required && !option.is_positional()) text += " (required)";
  const std::string value = option.shows_default ? default_of(option) : "";
  if (!value.empty()) text += fmt::format(" (default: {})", value);
  return entry(name, text);
}

}  // namespace

std::string help_of(const Command& command, const OptionList& options) {
  std::string usage = fmt::format("heed {} [OPTIONS]", command.name);
  std::string places;
  std::string others = entry("-h,--help", "print this help");
  for (const Option& option : options) {
    (option.is_positional() ? places : others) += entry(option);
    if (option.is_positional())
      usage += option.required ? " " + option.name : fmt::format(" [{}]", option.name);
  }
  if (!places.empty()) places = "Arguments:\n" + places + "\n";
  return fmt::format("{}\nUsage: {}\n\n{}Options:\n{}\nExamples:\n{}\n", command.summary, usage,
                     places, others, command.example);
}

}  // namespace heed::cli
