#include "train/task.h"

#include "train/classify_task.h"
#include "train/generated_task.h"
#include "train/lm_task.h"
#include "train/mlm_task.h"
#include "train/seq2seq_task.h"

namespace heed {

std::int64_t Task::counted(std::int64_t index) const {
  Example example;
  make(index, example);
  return example.counted();
}

std::unique_ptr<Task> make_task(const TrainConfig& config) {
  if (!config.generate.empty()) return make_generated_task(config);
  if (config.task == "seq2seq") return std::make_unique<Seq2seqTask>(config);
  if (config.task == "classify") return std::make_unique<ClassifyTask>(config);
  TextData data = load_text_data(config);
  if (config.task == "mlm") return std::make_unique<MlmTask>(config, std::move(data));
  return std::make_unique<LmTask>(config, std::move(data));
}

}  // namespace heed
