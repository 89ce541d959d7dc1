#include "models/gguf_save.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <system_error>
#include <utility>

#include "base/wording.h"
#include "heed/error.h"
#include "heed/tensor.h"
#include "io/gguf.h"
#include "models/chat_template.h"
#include "models/config.h"
#include "models/gguf_architecture.h"
#include "models/stored_weights.h"

namespace heed {
namespace {

constexpr std::pair<std::string_view, std::int64_t> kFileTypes[] = {
    {"F32", 0}, {"F16", 1}, {"BF16", 32}, {"Q8_0", 7}, {"Q4_0", 2}};

// --- tensors ---

Tensor stored_as(const Tensor& hub, GgufChange change, const ModelInfo& info) {
  switch (change) {
    case GgufChange::kNone:
      return hub.share();
    case GgufChange::kQueryRows:
      return swapped_rows(hub, info.heads, 2, hub.dim(0) / info.heads / 2);
    case GgufChange::kKeyRows:
      return swapped_rows(hub, info.kv_heads, 2, hub.dim(0) / info.kv_heads / 2);
    case GgufChange::kHeadRows:
      return rows_by_key(hub, info.heads, info.kv_heads, /*back=*/true);
    case GgufChange::kTransposed:
      return hub.rank() == 2 ? Tensor::copy_of(hub.view().permute({1, 0})) : hub.share();
    case GgufChange::kLessOne:
      break;
  }
  Tensor more = hub.clone();
  for (std::int64_t i = 0; i < more.element_count(); ++i) more.data<float>()[i] += 1;
  return more;
}

struct NamedTensor {
  std::string name;
  Tensor value;
};

constexpr std::string_view kHead = "output.weight";

std::span<const float> numbers_of(const Tensor& value) {
  return {value.data<float>(), static_cast<std::size_t>(value.element_count())};
}

// The tensors that llama.cpp's converter keeps in f32. llama.cpp ends the process if those that it
// adds to activations (biases of experts, positions) have another type.
bool is_always_f32(const NamedTensor& tensor) {
  constexpr std::string_view kEndings[] = {"_norm.weight", "ffn_gate_inp.weight",
                                           "ffn_gate_inp_shexp.weight", "position_embd.weight",
                                           "token_types.weight"};
  const std::string_view name = tensor.name;
  return tensor.value.rank() < 2 || !name.ends_with(".weight") ||
         std::ranges::any_of(kEndings, [&](auto ending) { return name.ends_with(ending); });
}

const GgufType* type_of(const NamedTensor& tensor, const GgufType* wanted) {
  if (is_always_f32(tensor)) return gguf_type_named("F32");
  // Like llama.cpp, keeps T5's distances out of blocks.
  const bool has_blocks = !tensor.name.ends_with("attn_rel_b.weight");
  const std::int64_t columns = tensor.value.dim(tensor.value.rank() - 1);
  return wanted->blocks == nullptr || (has_blocks && columns % wanted->elements == 0)
             ? wanted
             : gguf_type_named("F16");
}

// The largest number of a type. A block's scale is an f16: the largest number over the largest
// code.
float largest_of(const GgufType& type) {
  constexpr float kF16 = 65519;  // rounds to 65504
  if (type.name == "Q8_0") return 127 * kF16;
  if (type.name == "Q4_0") return 8 * kF16;
  return type.plain == DType::kF16 ? kF16 : std::numeric_limits<float>::max();
}

void add_not_finite(const NamedTensor& tensor, const GgufType& type,
                    std::vector<std::string>& names) {
  const auto count = std::ranges::count_if(
      numbers_of(tensor.value),
      [largest = largest_of(type)](float number) { return !(std::abs(number) <= largest); });
  if (count > 0) names.push_back(fmt::format("{} ({})", tensor.name, count));
}

std::vector<NamedTensor> factors_of(const GgufWritten& keys) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, numbers] : keys.factors) {
    Tensor factors = Tensor::empty({std::ssize(numbers)});
    std::ranges::transform(numbers, factors.data<float>(),
                           [](double number) { return static_cast<float>(number); });
    tensors.push_back({name, std::move(factors)});
  }
  return tensors;
}

std::vector<NamedTensor> stored_tensors(const Model& model, const std::vector<GgufName>& names,
                                        const GgufWritten& keys,
                                        std::vector<std::string>& omitted) {
  std::vector<NamedTensor> tensors = factors_of(keys);
  std::map<std::string, std::vector<Tensor>> stacks;
  for (const Parameter* parameter : model.parameters()) {
    const std::vector<RenamedTensor> stored =
        renamed(names, name_of_all(parameter->name), &GgufName::hub, &GgufName::stored);
    // llama.cpp has no head for BERT.
    if (stored.empty() && parameter->name.starts_with("cls.")) {
      omitted.push_back(parameter->name);
      continue;
    }
    if (stored.empty())
      fail("gguf", parameter->name, "a tensor that GGUF has no name for",
           "those of the architecture alone", ErrorCode::kUnsupported);
    for (const auto& [name, change, rows] : stored) {
      Tensor value = rows_of(stored_as(parameter->value, change, model.info()), rows);
      if (stacked_name(parameter->name))
        stacks[name].push_back(std::move(value));
      else
        tensors.push_back({name, std::move(value)});
    }
  }
  for (const auto& [name, parts] : stacks) tensors.push_back({name, stacked(parts, DType::kF32)});
  return tensors;
}

// llama.cpp has no factor of the states before the head, so the head in the file contains it.
void scale_head(double factor, std::vector<NamedTensor>& tensors) {
  const auto head = std::ranges::find(tensors, kHead, &NamedTensor::name);
  if (factor == 1 || head == tensors.end()) return;
  head->value = head->value.clone();
  for (std::int64_t i = 0; i < head->value.element_count(); ++i)
    head->value.data<float>()[i] *= static_cast<float>(factor);
}

// llama.cpp looks for a head in some architectures' files although it equals the words, and in
// others reads the words alone.
void settle_head(const GgufArchitecture& architecture, std::vector<NamedTensor>& tensors) {
  const bool has_own = std::ranges::find(tensors, kHead, &NamedTensor::name) != tensors.end();
  if (has_own && architecture.decoder.head == GgufHead::kTied)
    fail("gguf", "the head", "apart from the words",
         fmt::format("tied to them, as llama.cpp's '{}' has it", architecture.name),
         ErrorCode::kUnsupported);
  if (has_own || architecture.decoder.head != GgufHead::kOwn) return;
  const auto words = std::ranges::find(tensors, "token_embd.weight", &NamedTensor::name);
  if (words != tensors.end()) tensors.push_back({std::string(kHead), words->value.share()});
}

// A configuration may name tokens that its model does not have.
void add_special_tokens(const ModelInfo& info, Json& metadata) {
  const auto is_token = [&](std::int64_t id) { return id >= 0 && id < info.vocabulary; };
  // T5 has a separate key for its first token.
  if (is_token(info.first_token) && !info.reads_source())
    metadata.set("tokenizer.ggml.bos_token_id", info.first_token);
  std::vector<std::int64_t> ends;
  std::ranges::copy_if(info.end_tokens, std::back_inserter(ends), is_token);
  if (!ends.empty()) metadata.set("tokenizer.ggml.eos_token_id", ends[0]);
  if (ends.size() > 1) metadata.set("tokenizer.ggml.eot_token_id", ends[1]);
}

GgufContent content_of(const std::string& file, const Json& metadata,
                       const std::vector<NamedTensor>& tensors, const GgufWritten& keys) {
  GgufContent content = {
      .file = file,
      .value = [&metadata](std::string_view key) -> const Json& { return metadata[key]; },
      .factors = keys.factors};
  for (const NamedTensor& tensor : tensors)
    content.tensors.emplace(tensor.name, tensor.value.shape());
  return content;
}

// For messages: the file of the model's configuration.
std::string source_of(const LoadedModel& model) {
  if (model.folder.empty()) return "config";
  const std::filesystem::path config = model.folder / "config.json";
  std::error_code ignored;
  return (std::filesystem::exists(config, ignored) ? config : model.folder).string();
}

}  // namespace

std::vector<std::string_view> gguf_written_types() {
  std::vector<std::string_view> types;
  for (const auto& [name, id] : kFileTypes) types.push_back(name);
  return types;
}

GgufSaved save_gguf(const std::filesystem::path& path, const LoadedModel& model,
                    std::string_view type) {
  const auto* file_type =
      std::ranges::find(kFileTypes, type, &std::pair<std::string_view, std::int64_t>::first);
  if (file_type == std::end(kFileTypes))
    fail("gguf", "type", type, fmt::format("one of {}", joined(gguf_written_types(), ", ")));
  const Config config = Config::made(model.model->config_json(), source_of(model));
  const GgufArchitecture& architecture = gguf_architecture(config);
  Json metadata = {{"general.architecture", architecture.name},
                   {"general.name", model.name},
                   {"general.file_type", file_type->second},
                   {"general.quantization_version", 2}};
  const GgufWritten keys = gguf_keys(architecture, config);
  for (const auto& [key, value] : keys.keys.members())
    metadata.set(fmt::format("{}.{}", architecture.name, key), value);
  if (model.tokenizer)
    write_token_lists(*model.tokenizer, model.model->info().vocabulary, metadata);
  else
    metadata.set("tokenizer.ggml.model", "no_vocab");
  add_special_tokens(model.model->info(), metadata);
  if (!model.folder.empty())
    if (const auto chat = find_chat_template(model.folder, /*has_tools=*/false))
      metadata.set("tokenizer.chat_template", chat->source);
  if (architecture.name == "bert")
    metadata.set("tokenizer.ggml.token_type_count", model.model->info().token_types);
  GgufSaved saved;
  std::vector<NamedTensor> tensors =
      stored_tensors(*model.model, gguf_names(architecture, config), keys, saved.omitted);
  settle_head(architecture, tensors);
  if (architecture.head_scale != nullptr) scale_head(architecture.head_scale(config), tensors);
  require_said(architecture, config, content_of(path.string(), metadata, tensors, keys));
  std::vector<GgufOut> out;
  for (const NamedTensor& tensor : tensors) {
    const GgufType* const own = type_of(tensor, gguf_type_named(type));
    out.push_back({.name = tensor.name, .view = tensor.value.view(), .type = own});
    add_not_finite(tensor, *own, saved.not_finite);
  }
  write_gguf(path, metadata, out);
  return saved;
}

}  // namespace heed
