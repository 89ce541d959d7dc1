#include "models/classifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ranges>
#include <utility>

#include "heed/error.h"
#include "models/family.h"
#include "nn/residual.h"
#include "ops/elementwise.h"

namespace heed {
namespace {

constexpr std::string_view kOfTexts = "ForSequenceClassification";
constexpr std::string_view kOfTokens = "ForTokenClassification";

// The names of the head's parts in `transformers`; heads for texts may have a middle layer.
struct Head {
  std::string_view model_type, architecture;
  const char *middle, *of_texts, *of_tokens;
  MiddleActivation activation = MiddleActivation::kTanh;
  bool text_bias = false;
};
using Between = MiddleActivation;
constexpr Head kHeads[] = {
    {"bert", "Bert", "bert.pooler.dense", "classifier", "classifier", Between::kTanh, true},
    {"roberta", "Roberta", "classifier.dense", "classifier.out_proj", "classifier", Between::kTanh,
     true},
    {"camembert", "Camembert", "classifier.dense", "classifier.out_proj", "classifier",
     Between::kTanh, true},
    {"xlm-roberta", "XLMRoberta", "classifier.dense", "classifier.out_proj", "classifier",
     Between::kTanh, true},
    {"distilbert", "DistilBert", "pre_classifier", "classifier", "classifier", Between::kRelu,
     true},
    {"electra", "Electra", "classifier.dense", "classifier.out_proj", "classifier", Between::kGelu,
     true},
    {"albert", "Albert", "albert.pooler", "classifier", "classifier", Between::kTanh, true},
    {"mpnet", "MPNet", "classifier.dense", "classifier.out_proj", "classifier", Between::kTanh,
     true},
    {"t5", "T5", "classification_head.dense", "classification_head.out_proj", "classifier",
     Between::kTanh, true},
    {"mt5", "MT5", "classification_head.dense", "classification_head.out_proj", "classifier",
     Between::kTanh, true},
    {"umt5", "UMT5", "classification_head.dense", "classification_head.out_proj", "classifier",
     Between::kTanh, true},
    {"bart", "Bart", "classification_head.dense", "classification_head.out_proj", nullptr,
     Between::kTanh, true},
    {"gpt2", "GPT2", nullptr, "score", "classifier"},
    {"llama", "Llama", nullptr, "score", "score"},
    {"mistral", "Mistral", nullptr, "score", "score"},
    {"ministral", "Ministral", nullptr, "score", "score"},
    {"qwen2", "Qwen2", nullptr, "score", "score"},
    {"qwen3", "Qwen3", nullptr, "score", "score"},
    {"gemma2", "Gemma2", nullptr, "score", "score"},
    {"gemma", "Gemma", nullptr, "score", "score"},
    {"gemma3_text", "Gemma3Text", nullptr, "score", nullptr},
    {"gpt_neox", "GPTNeoX", nullptr, "score", "classifier"},
    {"gptj", "GPTJ", nullptr, "score", nullptr},
    {"gpt_neo", "GPTNeo", nullptr, "score", "classifier"},
    {"opt", "OPT", nullptr, "score", nullptr},
    {"phi", "Phi", nullptr, "score", "score"},
    {"phi3", "Phi3", nullptr, "score", "score"},
    {"olmo", "Olmo", nullptr, "score", nullptr},
    {"olmo2", "Olmo2", nullptr, "score", nullptr},
    {"olmo3", "Olmo3", nullptr, "score", nullptr},
    {"stablelm", "StableLm", nullptr, "score", "score"},
    {"starcoder2", "Starcoder2", nullptr, "score", "score"},
    {"smollm3", "SmolLM3", nullptr, "score", "score"},
    {"glm", "Glm", nullptr, "score", "score"},
    {"glm4", "Glm4", nullptr, "score", "score"},
    {"nemotron", "Nemotron", nullptr, "score", "score"},
    {"helium", "Helium", nullptr, "score", "score"},
    {"bloom", "Bloom", nullptr, "score", "classifier"},
    {"falcon", "Falcon", nullptr, "score", "classifier"},
    {"mixtral", "Mixtral", nullptr, "score", "score"},
    {"qwen2_moe", "Qwen2Moe", nullptr, "score", "score"},
    {"qwen3_moe", "Qwen3Moe", nullptr, "score", "score"},
    {"gpt_oss", "GptOss", nullptr, "score", "score"}};

const Head* find_head(std::string_view model_type) {
  const Head* found = std::ranges::find(kHeads, model_type, &Head::model_type);
  return found == std::end(kHeads) ? nullptr : found;
}

const Head& head_of(const ClassifierConfig& config) {
  const auto serves = [&](const Head& head) { return config.by_text || head.of_tokens != nullptr; };
  const Head* found = find_head(config.model_type);
  if (found != nullptr && serves(*found)) return *found;
  std::string known;
  for (const Head& head : kHeads | std::views::filter(serves))
    known += (known.empty() ? "" : ", ") + std::string(head.model_type);
  fail("classifier", "model_type", fmt::format("'{}'", config.model_type), "one of: " + known,
       ErrorCode::kUnsupported);
}

Linear out_layer(const ClassifierConfig& config, std::int64_t width) {
  const Head& head = head_of(config);
  return Linear(
      config.by_text ? head.of_texts : head.of_tokens,
      {.in = width, .out = std::ssize(config.labels), .bias = !config.by_text || head.text_bias});
}

Activation plain(MiddleActivation activation) {
  return activation == Between::kRelu ? Activation::kRelu : Activation::kGelu;
}

// Copies row places[b] of each text: [B, T, C] -> [B, 1, C], or back into zeros.
void copy_rows(const std::vector<std::int64_t>& places, const View& all, const View& chosen,
               bool back) {
  const std::size_t bytes = static_cast<std::size_t>(all.dim(2)) * size_bytes(all.dtype());
  for (std::int64_t b = 0; b < all.dim(0); ++b) {
    void* const in_text = all.select(0, b).select(0, places[static_cast<std::size_t>(b)]).raw();
    void* const alone = chosen.select(0, b).raw();
    std::memcpy(back ? in_text : alone, back ? alone : in_text, bytes);
  }
}

}  // namespace

std::optional<ClassifierConfig> classifier_config(const Config& config) {
  ClassifierConfig read{.model_type = config.text("model_type", ""), .labels = {}};
  const std::vector<std::string> names = config.texts("architectures");
  const bool of_tokens = !names.empty() && names[0].ends_with(kOfTokens);
  read.by_text = !names.empty() && names[0].ends_with(kOfTexts);
  const Head* head = find_head(read.model_type);
  if ((!of_tokens && !read.by_text) || head == nullptr) return std::nullopt;
  if (of_tokens && head->of_tokens == nullptr) return std::nullopt;
  if (const auto labels = config.part("id2label")) {
    for (std::int64_t i = 0; labels->has(std::to_string(i).c_str()); ++i)
      read.labels.push_back(labels->text(std::to_string(i).c_str(), ""));
  }
  const std::int64_t usual = read.model_type == "bart" ? 3 : 2;  // transformers' defaults
  const std::int64_t count =
      read.labels.empty() ? config.extent("num_labels", usual) : std::ssize(read.labels);
  for (std::int64_t i = std::ssize(read.labels); i < count; ++i)
    read.labels.push_back(fmt::format("LABEL_{}", i));
  return read;
}

Json classifier_members(const ClassifierConfig& classifier) {
  const Head& head = head_of(classifier);
  Json names = Json::object();
  Json ids = Json::object();
  for (std::size_t i = 0; i < classifier.labels.size(); ++i) {
    names.set(std::to_string(i), classifier.labels[i]);
    ids.set(classifier.labels[i], static_cast<std::int64_t>(i));
  }
  const std::string architecture =
      std::string(head.architecture) + std::string(classifier.by_text ? kOfTexts : kOfTokens);
  Json members = {
      {"architectures", Json::array({architecture})}, {"id2label", names}, {"label2id", ids}};
  if (classifier.by_text) members.set("problem_type", "single_label_classification");
  return members;
}

Classifier::Classifier(std::unique_ptr<Model> base, ClassifierConfig config)
    : config_(std::move(config)),
      base_(std::move(base)),
      info_(base_->info()),
      out_(out_layer(config_, info_.width)) {
  info_.has_logits = false;                              // no vocabulary logits
  info_.source_positions = info_.source_vocabulary = 0;  // the text is its source
  const Head& head = head_of(config_);
  if (!config_.by_text || head.middle == nullptr) return;
  middle_.emplace(head.middle, LinearShape{.in = info_.width, .out = info_.width});
  activation_ = head.activation;
}

// The token whose state represents the text: an encoder's first, a decoder's last, which has seen
// all others, and for an encoder-decoder the last end token of the text.
std::vector<std::int64_t> Classifier::places(const Batch& batch, const Run& run) const {
  std::vector<std::int64_t> rows = run.row_lengths(batch.ids.dim(0), batch.ids.dim(1));
  const bool decodes = head_of(config_).middle == nullptr;  // even if it is not causal
  for (std::size_t b = 0; b < rows.size(); ++b) {
    std::int64_t& row = rows[b];
    if (!base_->info().reads_source()) {
      row = decodes ? std::max<std::int64_t>(row - 1, 0) : 0;
      continue;
    }
    const auto* ids = batch.ids.select(0, static_cast<std::int64_t>(b)).data<std::int32_t>();
    do --row;
    while (row >= 0 && !info_.ends_with(ids[row]));
    if (row < 0)
      fail("classifier", fmt::format("ids[{}]", b), "without an end token",
           "one: the state that follows it stands for the text");
  }
  return rows;
}

Classifier::Pass::Pass(const Model& base, const Batch& batch, const Run& run) : batch_(batch) {
  if (!base.info().reads_source()) return;
  ids_ = Tensor::empty(batch.ids.shape(), batch.ids.dtype());
  for (std::int64_t b = 0; b < ids_.dim(0); ++b) {
    const auto* from = batch.ids.select(0, b).data<std::int32_t>();
    auto* to = ids_.view().select(0, b).data<std::int32_t>();
    to[0] = static_cast<std::int32_t>(base.info().first_token);
    std::copy(from, from + ids_.dim(1) - 1, to + 1);
  }
  batch_ = {.ids = ids_,
            .source = batch.ids,
            .source_lengths = run.row_lengths(batch.ids.dim(0), batch.ids.dim(1))};
}

Tensor Classifier::forward(const Batch& batch, Run& run) const {
  const Shown show{run};
  const Pass pass(*base_, batch, run);
  const Tensor states =
      base_->info().reads_source() ? base_->forward(pass.batch(), run) : base_->states(batch, run);
  if (!config_.by_text) return show(TapKind::kLogits, out_.forward(states, run));
  Tensor all = states.share();
  Tensor x = Tensor::empty({states.dim(0), 1, states.dim(2)}, states.dtype());
  copy_rows(places(batch, run), all, x, /*back=*/false);
  if (middle_) {
    Tensor hidden = middle_->forward(x, run);
    x = activation_ == Between::kTanh ? softcapped(hidden.clone(), 1)
                                      : activate(hidden, plain(activation_));
    if (run.saved != nullptr)
      run.saved->put(activation_ == Between::kTanh ? x.share() : std::move(hidden));
  }
  return show(TapKind::kLogits, out_.forward(x, run));
}

void Classifier::backward(const Tensor& dlogits, const Batch& batch, Run& run,
                          Gradients& gradients) const {
  Tensor dx = out_.backward(dlogits, run, gradients);
  if (middle_) {
    const Tensor kept = run.saved->take();  // after tanh, before the others
    if (activation_ == Between::kTanh)
      dx = softcap_backward(kept, 1, dx);
    else
      activate_backward(kept, plain(activation_), dx);
    dx = middle_->backward(dx, run, gradients);
  }
  if (config_.by_text) {
    Tensor dstates = Tensor::zeros({dx.dim(0), batch.ids.dim(1), dx.dim(2)}, dx.dtype());
    copy_rows(places(batch, run), dstates, dx, /*back=*/true);
    dx = std::move(dstates);
  }
  if (base_->info().reads_source())
    base_->backward(dx, Pass(*base_, batch, run).batch(), run, gradients);
  else
    base_->states_backward(dx, batch, run, gradients);
}

std::vector<Parameter*> Classifier::head_parameters() {
  std::vector<Parameter*> head;
  if (middle_) middle_->collect(head);
  out_.collect(head);
  return head;
}

std::vector<Parameter*> Classifier::parameters() {
  std::vector<Parameter*> all = base_->parameters();
  const std::vector<Parameter*> head = head_parameters();
  all.insert(all.end(), head.begin(), head.end());
  return all;
}

std::string Classifier::config_json() const {
  Json json = JsonText::parse(base_->config_json(), {.file = "config"}).root();
  const Json members = classifier_members(config_);
  for (const auto& [key, value] : members.members()) json.set(key, value);
  return json.dump(2) + "\n";
}

void Classifier::initialise_head(std::uint64_t seed, double deviation) {
  initialise(head_parameters(),
             {.seed = seed, .deviation = [deviation](std::string_view) { return deviation; }});
}

void Classifier::load_head(const Weights& weights) {
  for (Parameter* parameter : head_parameters())
    parameter->value = weights.load_f32(parameter->name, parameter->value.shape());
}

}  // namespace heed
