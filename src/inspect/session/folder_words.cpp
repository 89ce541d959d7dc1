#include "inspect/session/folder_words.h"

namespace heed {

void follow_folder(const LoadedModel& model, GenerateArgs& args,
                   std::span<const std::string_view> given) {
  GenerationConfig config = read_generation_config(model.folder);
  config.samples = config.samples.value_or(false);
  args.tokenizer = model.writing_tokenizer();
  if (args.tokenizer == nullptr) config.stop.clear();  // ids alone hold no text to stop at
  check(config, model.model->info(), args.tokenizer);
  follow(std::move(config), args, given);
}

}  // namespace heed
