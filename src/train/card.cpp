#include "train/card.h"

#include <fmt/format.h>

#include "base/cpu_name.h"
#include "heed/base/threads.h"

namespace heed {
namespace {

std::string data_section(const Card& card) {
  std::int64_t bytes = 0;
  std::string rows;
  for (const DataFile& file : card.data.files) {
    rows += fmt::format("| {} | {} |\n", std::filesystem::path(file.path).filename().string(),
                        file.bytes);
    bytes += file.bytes;
  }
  std::string text =
      fmt::format("## Data\n| file | bytes |\n|---|---|\n{}| together | {} |\n\n", rows, bytes);
  if (card.config.rejoin_lines) text += "Wrapped lines were joined: one line a paragraph. ";
  return text + fmt::format(
                    "{} tokens for training, {} for validation (the last {:g} % of each "
                    "file).\n",
                    card.data.train.size(), card.data.validation.size(),
                    100 * card.config.validation);
}

std::string loss_section(const TrainResult& result) {
  std::string text =
      fmt::format("## Loss (nats a token)\n- last training step: {:.4f}\n", result.loss);
  if (result.validation_loss)
    text += fmt::format("- validation, at the end: {:.4f}\n", *result.validation_loss);
  if (result.best_loss)
    text += fmt::format("- validation, these weights (step {}, in f32): {:.4f}\n", result.best_step,
                        *result.best_loss);
  return text;
}

}  // namespace

std::string to_markdown(const Card& card) {
  const ModelInfo& info = card.model.info();
  std::string text = fmt::format(
      "# A {} of {} layers, {} heads, width {}\n{}{} parameters, vocabulary {}, {} positions; "
      "weights in {}.\n\n",
      info.family, info.layers, info.heads, info.width,
      card.config.about.empty() ? "" : card.config.about + "\n\n", parameter_count(card.model),
      info.vocabulary, info.positions, card.config.dtype);
  text += loss_section(card.result) + "\n" + data_section(card) + "\n";
  text += fmt::format(
      "## Training\nTrained by `heed train`: {} steps, {} tokens, seed {}, {:.1f} minutes on {} "
      "({} thread{}). Configuration:\n```json\n{}```\n",
      card.result.steps, card.result.tokens, card.config.seed, card.result.seconds / 60, cpu_name(),
      thread_count(), thread_count() == 1 ? "" : "s", to_json(card.config));
  return text;
}

}  // namespace heed
