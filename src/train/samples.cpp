#include "train/samples.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/clipped.h"
#include "base/number_of.h"
#include "base/reworded.h"
#include "heed/error.h"
#include "heed/generate/generate.h"
#include "io/atomic_file.h"
#include "train/answered_examples.h"

namespace heed {
namespace {

constexpr std::int64_t kTokens = 200;
constexpr std::string_view kHeading = "--- step ";

std::string content(const std::filesystem::path& path) {
  return std::filesystem::exists(path) ? read_file(path, most_data_bytes()) : "";
}

}  // namespace

Samples::Samples(std::filesystem::path path, const TrainConfig& config, const Model& model,
                 const Task& task)
    : path_(std::move(path)),
      prompt_(config.sample_prompt),
      seed_(static_cast<std::uint64_t>(config.seed)),
      model_(model),
      task_(task) {
  if (task.has_accuracy()) return;
  const Tokenizer& tokenizer = *task.data().tokenizer;
  ids_ = reworded([&] { return prompt_of(model, tokenizer, prompt_); },
                  [&](ErrorParts& parts) {
                    parts.op = "train";
                    if (prompt_.empty()) parts.found = {};  // it was not given
                    if (parts.argument.empty())             // the tokenizer's, of a character
                      parts.found =
                          fmt::format("\"{}\", of which {}", clipped(prompt_), parts.found.text());
                    parts.argument = "sample_prompt";
                  });
  if (std::ssize(ids_) > model.info().positions)
    fail({.op = "train",
          .argument = "sample_prompt",
          .found = fmt::format("{} long", number_of(ids_.size(), "token")),
          .expected = fmt::format("at most {} (block)", model.info().positions)});
}

void Samples::forget_after(std::int64_t step) {
  const std::string all = content(path_);
  for (std::size_t at = 0; (at = all.find(kHeading, at)) != std::string::npos; ++at) {
    if (at > 0 && all[at - 1] != '\n') continue;
    if (std::strtoll(all.c_str() + at + kHeading.size(), nullptr, 10) <= step) continue;
    write_file(path_, std::string_view(all).substr(0, at));
    return;
  }
}

std::string Samples::written() const {
  return prompt_ + generate(model_, {.prompts = {ids_},
                                     .most_tokens = kTokens,
                                     .seed = seed_,
                                     .tokenizer = task_.data().tokenizer.get(),
                                     .crop = true})[0]
                       .text;
}

std::string Samples::add(std::int64_t step) {
  const std::string text = task_.has_accuracy() ? answered_examples(task_, model_) : written();
  const std::string sample = fmt::format("{}{}\n{}\n", kHeading, step, text);
  write_file(path_, content(path_) + sample);
  return sample;
}

}  // namespace heed
