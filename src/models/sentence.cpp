#include "heed/models/sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "heed/base/error.h"
#include "io/atomic_file.h"
#include "models/config.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

class LastStates final : public Tap {
 public:
  void at(const TapName& name, View value) override {
    if (name.kind == TapKind::kFinal) states = Tensor::copy_of(value);
  }

  Tensor states;  // [B, T, C]
};

// The mean of a text's rows, or the first one.
void pool(const ConstView& rows, const Pooling& pooling, float* vector) {
  const std::int64_t width = rows.dim(1);
  const std::int64_t counted = pooling.kind == Pooling::Kind::kFirst ? 1 : rows.dim(0);
  std::vector<double> sums(static_cast<std::size_t>(width));
  for (std::int64_t t = 0; t < counted; ++t)
    for (std::int64_t c = 0; c < width; ++c)
      sums[static_cast<std::size_t>(c)] += rows.data<float>()[t * width + c];
  double squares = 0;
  for (double& sum : sums) {
    sum /= static_cast<double>(counted);
    squares += sum * sum;
  }
  const double length = pooling.normalised ? std::max(std::sqrt(squares), 1e-12) : 1;
  std::ranges::transform(sums, vector,
                         [&](double sum) { return static_cast<float>(sum / length); });
}

}  // namespace

Pooling read_pooling(const fs::path& folder) {
  Pooling pooling;
  const fs::path file = folder / "1_Pooling/config.json";
  if (!fs::exists(file)) return pooling;
  const Config config = Config::parse(read_file(file), file.string());
  const bool first = config.flag("pooling_mode_cls_token", false);
  if (!first && !config.flag("pooling_mode_mean_tokens", true))
    config.refuse("pooling_mode_mean_tokens", "false",
                  "true, or pooling_mode_cls_token: the mean or the first token",
                  ErrorCode::kUnsupported);
  if (first) pooling.kind = Pooling::Kind::kFirst;
  const fs::path modules = folder / "modules.json";
  pooling.normalised =
      fs::exists(modules) && read_file(modules).find(".Normalize") != std::string::npos;
  return pooling;
}

Tensor sentence_vectors(const Model& model, std::span<const std::vector<TokenId>> texts,
                        const Pooling& pooling) {
  if (model.info().causal || model.info().reads_source())
    fail("sentence_vectors", "model", model.info().title, "an encoder");
  LastStates last;
  Run run;
  run.tap = &last;
  std::int64_t longest = 0;
  for (const auto& text : texts) {
    if (text.empty()) fail("sentence_vectors", "texts", "without a token", "at least one in each");
    run.extents.query_length.push_back(std::ssize(text));
    longest = std::max<std::int64_t>(longest, std::ssize(text));
  }
  run.extents.key_length = run.extents.query_length;
  run.last_position_only = true;  // nobody reads the logits
  const auto count = static_cast<std::int64_t>(texts.size());
  Tensor ids = Tensor::zeros({count, longest}, DType::kI32);
  for (std::int64_t i = 0; i < count; ++i)
    std::ranges::copy(texts[static_cast<std::size_t>(i)], ids.data<TokenId>() + i * longest);
  model.forward({.ids = ids}, run);
  const std::int64_t width = model.info().width;
  Tensor vectors = Tensor::empty({count, width});
  for (std::int64_t i = 0; i < count; ++i)
    pool(last.states.view().select(0, i).slice(
             0, 0, run.extents.query_length[static_cast<std::size_t>(i)]),
         pooling, vectors.data<float>() + i * width);
  return vectors;
}

Tensor sentence_vectors(const LoadedModel& model, std::span<const std::string> texts) {
  if (!model.tokenizer)
    fail({.op = "sentence_vectors",
          .found = model.name + " has no tokenizer",
          .expected = "a model that reads text"});
  std::vector<std::vector<TokenId>> ids;
  for (const std::string& text : texts)
    ids.push_back(model.tokenizer->encode(text, /*add_special=*/true).ids);
  return sentence_vectors(*model.model, ids, read_pooling(model.folder));
}

}  // namespace heed
