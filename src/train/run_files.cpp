#include "train/run_files.h"

#include "heed/models/registry.h"
#include "io/atomic_file.h"
#include "tensor/dtype_named.h"
#include "train/card.h"
#include "train/loss_svg.h"

namespace heed {

RunFiles::RunFiles(const RunFolder& folder, const TrainConfig& config, const Task& task,
                   const Model& model)
    : folder_(folder), config_(config), task_(task), model_(model) {
  if (config.sample_every > 0)
    samples_ = std::make_unique<Samples>(folder.samples(), config, model, task);
}

void RunFiles::begin(const TrainState& state) {
  losses_ = std::make_unique<LossCsv>(
      folder_.losses(), state.recorded ? state.step : state.step - 1, task_.has_accuracy());
  const std::vector<const Parameter*> parameters = model_.parameters();
  norms_ = std::make_unique<GradientNorms>(folder_.gradient_norms(), state.step, parameters);
  if (samples_) samples_->forget_after(state.step);
}

void RunFiles::save_checkpoint(const TrainState& state, const Trained& trained) {
  losses_->flush();
  norms_->flush();
  write_checkpoint(checkpoint_path(folder_.path(), state.step), state, trained);
  folder_.remove_old_checkpoints();
  write_loss_svg(folder_.losses(), folder_.picture());
}

void RunFiles::save(const std::filesystem::path& folder) const {
  save_model(folder, model_, task_.data().tokenizer.get(), dtype_named(config_.dtype));
  if (const Tokenizer* target = task_.data().target_tokenizer.get())
    write_file(folder / "tokenizer_target.json", target->to_json());
}

void RunFiles::write_card(const TrainResult& result) const {
  write_file(folder_.model() / "card.md", to_markdown({config_, task_, model_, result}));
}

}  // namespace heed
