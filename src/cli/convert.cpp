// heed convert: a model written again, in another type or as one file.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "cli/command.h"
#include "cli/terminal/output.h"
#include "heed/models/registry.h"

namespace heed::cli {
namespace {

constexpr std::array<std::pair<const char*, DType>, 3> kTypes = {
    {{"f32", DType::kF32}, {"f16", DType::kF16}, {"bf16", DType::kBF16}}};

struct Options {
  std::string model;
  std::string out;
  std::string dtype = "f32";
};

int run(const Options& options) {
  const LoadedModel model = load_model(find_model(options.model));
  for (const auto& [name, dtype] : kTypes)
    if (options.dtype == name) save_model(options.out, model, dtype);
  print(fmt::format("{}: {} in {}\n", options.out, model.model->info().title, options.dtype));
  return 0;
}

Run declare(OptionList& list) {
  const auto options = std::make_shared<Options>();
  add(list, {{.name = "MODEL",
              .to = &options->model,
              .required = true,
              .help = "a model folder, or a name that heed models lists"},
             {.name = "-o,--out",
              .to = &options->out,
              .type = "DIR",
              .required = true,
              .help = "the folder to write"},
             {.name = "--dtype",
              .to = &options->dtype,
              .words = {"f32", "f16", "bf16"},
              .shows_default = true,
              .help = "how the weights are written"}});
  return [options](const Given&) { return run(*options); };
}

}  // namespace

Command convert_command() {
  return {"convert", "writes a model again, in another type or of shards as one file",
          "  heed convert tales --dtype f32 -o tales-f32\n"
          "  heed convert models/llama --dtype bf16 -o models/llama-bf16",
          declare};
}

}  // namespace heed::cli
