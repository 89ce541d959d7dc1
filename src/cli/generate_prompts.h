// What `heed generate` goes on from.
#pragma once

#include <string>
#include <vector>

#include "cli/generate_options.h"
#include "heed/models/registry.h"

namespace heed::cli {

/// One of each a prompt.
struct Prompts {
  std::vector<std::string> texts;  // what the model reads
  std::vector<std::string> shown;  // what is printed before the answer; none of a chat or a source
};

/// Reads the file and standard input into `options.prompts`.
void read_inputs(GenerateOptions& options);

/// Sets the prompts of `options.args`, or its sources, and says on stderr what the tokenizer loses
/// and which special tokens a chat template has added.
Prompts read_prompts(const LoadedModel& model, GenerateOptions& options, bool has_system);

}  // namespace heed::cli
