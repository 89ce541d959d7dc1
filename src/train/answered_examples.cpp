#include "train/answered_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace heed {
namespace {

constexpr std::int64_t kExamples = 3;

// Answers are labels, or tokens of the language that is written.
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
