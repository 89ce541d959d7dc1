#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/wording.h"
#include "heed/error.h"
#include "heed/generate.h"
#include "io/atomic_file.h"
#include "train/run_files.h"

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
                    if (parts.argument.empty())             // a tokenizer's error about a character
                      parts.found =
                          fmt::format("\"{}\", of which {}", clipped(prompt_), parts.found.text());
                    parts.argument = "sample_prompt";
                  });
  if (std::ssize(ids_) > model.info().positions)
    fail("train", "sample_prompt", fmt::format("{} long", number_of(ids_.size(), "token")),
         fmt::format("at most {} (block)", model.info().positions));
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

namespace {

constexpr std::int64_t kExamples = 3;

// Answers are labels, or tokens of the output language.
std::string text_of(const Task& task, const std::vector<TokenId>& answers) {
  const TaskData& data = task.data();
  if (data.labels.empty())
    return (data.target_tokenizer ? data.target_tokenizer : data.tokenizer)
        ->decode(answers, /*skip_special=*/true);
  std::string text;
  for (const TokenId answer : answers)
    text += (text.empty() ? "" : " ") + data.labels[static_cast<std::size_t>(answer)];
  return text;
}

std::vector<TokenId> likeliest(const Tensor& logits, const Example& example) {
  const std::int64_t classes = logits.dim(-1);
  std::vector<TokenId> answers;
  for (std::size_t i = 0; i < example.targets.size(); ++i) {
    const float* row = logits.data<float>() + static_cast<std::int64_t>(i) * classes;
    if (example.targets[i] >= 0)
      answers.push_back(static_cast<TokenId>(std::max_element(row, row + classes) - row));
  }
  return answers;
}

}  // namespace

std::string answered_examples(const Task& task, const Model& model) {
  std::string text;
  const std::int64_t all = task.validation_examples();
  ExampleBatch batch;
  for (std::int64_t i = 0; i < kExamples; ++i) {
    batch.begin(1);
    Example& example = batch.row(0);
    if (all > 0)
      task.make_validation(i % all, all, example);
    else
      task.make(i, example);
    batch.lay_out();
    Run run;
    const Tensor logits = model.forward(batch.batch(), run);
    std::vector<TokenId> wanted;
    std::ranges::copy_if(example.targets, std::back_inserter(wanted),
                         [](TokenId target) { return target >= 0; });
    const auto& read = example.source.empty() ? example.ids : example.source;
    text += fmt::format("reads:   {}\nwanted:  {}\nanswers: {}\n",
                        task.data().tokenizer->decode(read, /*skip_special=*/false),
                        text_of(task, wanted), text_of(task, likeliest(logits, example)));
  }
  return text;
}

}  // namespace heed
