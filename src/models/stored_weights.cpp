#include "models/stored_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "base/wording.h"
#include "heed/error.h"
#include "nn/parameter.h"
#include "ops/packed_matrix.h"
#include "tensor/block_type.h"
#include "tensor/text.h"
#include "tensor/views.h"

namespace heed {

// Tries the name itself, without the prefix, each with an old ending, and all of them with
// DistributedDataParallel's prefix.
std::optional<std::string> StoredWeights::find(const std::string& name) const {
  std::vector<std::string> spellings = {name};
  if (name.starts_with(spelling_.prefix)) spellings.push_back(name.substr(spelling_.prefix.size()));
  for (std::size_t i = 0, count = spellings.size(); i < count; ++i)
    for (const auto& [now, once] : spelling_.endings)
      if (spellings[i].ends_with(now))
        spellings.push_back(spellings[i].substr(0, spellings[i].size() - now.size()) +
                            std::string(once));
  std::vector<std::string_view> prefixes = spelling_.wrappers;
  prefixes.emplace_back("module.");
  for (const std::string_view before : prefixes)
    for (std::size_t i = 0, count = spellings.size(); i < count; ++i)
      spellings.push_back(std::string(before) + spellings[i]);
  const auto found = std::ranges::find_if(
      spellings, [&](const std::string& spelling) { return weights_.contains(spelling); });
  return found == spellings.end() ? std::nullopt : std::optional(*found);
}

std::string StoredWeights::stored_name(const std::string& name) const {
  if (const auto own = find(name)) return *own;
  for (const auto& [absent, meant] : spelling_.otherwise)
    if (name == absent)
      if (const auto other = find(meant)) return *other;
  return name;  // reading it fails and lists what exists
}

bool StoredWeights::differ(const std::string& copy, const std::string& original) const {
  const auto a_name = find(copy), b_name = find(original);
  if (!a_name || !b_name || *a_name == *b_name) return false;
  const ConstView a = weights_.tensor(*a_name), b = weights_.tensor(*b_name);
  if (a.shape() != b.shape()) return true;
  if (a.dtype() == b.dtype()) return std::memcmp(a.raw(), b.raw(), byte_count(a)) != 0;
  const Tensor left = Tensor::converted(a, DType::kF32), right = Tensor::converted(b, DType::kF32);
  return std::memcmp(left.view().raw(), right.view().raw(), byte_count(left)) != 0;
}

void StoredWeights::require_copy(const std::string& copy, const std::string& original) const {
  if (!differ(copy, original)) return;
  const std::string stored = stored_name(copy);
  fail_in(weights_.file(stored).string(), stored, "other numbers than " + stored_name(original),
          "the same: config.json ties them (tie_word_embeddings)", ErrorCode::kUnsupported);
}

void StoredWeights::require(const std::string& name, const Shape& shape) const {
  if (const std::optional<StackedName> part = stacked(name))
    require_part(*part, shape);
  else
    weights_.require(stored_name(name), shape);
}

void StoredWeights::load_to_run(Parameter& parameter, const std::string& stored,
                                const Reading& reading) const {
  const Shape shape = parameter.value.shape();
  const DType packed = reading.packed.value_or(DType::kF32);  // the caller has asked
  const bool is_plain = !packing_pays(packed) && weights_.kind(stored).dtype == packed;
  if (reading.streamed && parameter.linear && !is_plain)
    return load_streamed(parameter, stored, reading);
  if (parameter.linear || parameter.looked_up) {
    weights_.require(stored, shape);
    if (const std::optional<BlockRows> blocks = weights_.blocks(stored)) {
      pack(parameter, *blocks->type, blocks->rows);
      return weights_.release(stored);
    }
  }
  if (is_packed(parameter, packed)) {
    pack(parameter, weights_.tensor(stored, shape), packed);
    weights_.release(stored);  // otherwise the model is in memory twice while loading
  } else if (parameter.linear ? weights_.kind(stored).dtype == DType::kF32 : parameter.looked_up) {
    parameter.value = weights_.mapped(stored, shape);
    if (!reading.in_memory) return;
    parameter.value = parameter.value.clone();
    weights_.release(stored);
  } else {
    parameter.value = weights_.load_f32(stored, shape);
  }
}

void StoredWeights::load(Parameter& parameter, const std::string& stored,
                         const Reading& reading) const {
  if (reading.headers_only)
    weights_.require(stored, parameter.value.shape());
  else if (reading.packed)
    load_to_run(parameter, stored, reading);
  else
    parameter.value = weights_.load_f32(stored, parameter.value.shape());
}

void StoredWeights::load(std::span<Parameter* const> parameters, const Reading& reading) const {
  std::set<std::string> used;
  for (Parameter* parameter : parameters) {
    if (const std::optional<StackedName> part = stacked(parameter->name)) {
      load_part(*parameter, *part, reading);
      used.insert(part->name);
      if (part->has_blocks()) used.insert(part->scales());
      continue;
    }
    const std::string stored = stored_name(parameter->name);
    load(*parameter, stored, reading);
    used.insert(weights_.stored_name(stored));
  }
  check_rest(used, reading);
}

namespace {

// Buffers that a model computes itself.
constexpr std::string_view kDerived[] = {"inv_freq",   "original_inv_freq", "cos_cached",
                                         "sin_cached", "position_ids",      "token_type_ids",
                                         "masked_bias"};

// Names of heads for other tasks that do not end in "head".
constexpr std::string_view kHeadNames[] = {"score",      "classifier",     "pre_classifier",
                                           "qa_outputs", "pooler",         "summary",
                                           "cls",        "sop_classifier", "logits_proj"};

// A tensor that does not affect the model's numbers.
bool is_beside_the_model(std::string_view name) {
  if (name.starts_with("module.")) name.remove_prefix(std::string_view("module.").size());
  const std::string_view first = name.substr(0, name.find('.'));
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (std::ranges::find(kDerived, last) != std::end(kDerived)) return true;
  return std::ranges::find(kHeadNames, first) != std::end(kHeadNames) ||
         (first.ends_with("head") && first != "lm_head");
}

}  // namespace

void StoredWeights::check_rest(const std::set<std::string>& used, const Reading& reading) const {
  for (const std::string& name : weights_.names()) {
    if (used.contains(name)) continue;
    const bool known = is_beside_the_model(name) ||
                       std::ranges::any_of(spelling_.unused, [&](std::string_view part) {
                         return name.find(part) != std::string::npos;
                       });
    if (!known)
      fail_in(weights_.file(name).string(), name, "a tensor that the model does not have",
              "its parameters alone", ErrorCode::kUnsupported);
    if (reading.unread != nullptr) reading.unread->push_back(name);
  }
}

DType stored_type(const Weights& weights) {
  std::int64_t f16 = 0;
  std::int64_t bf16 = 0;
  std::int64_t wider = 0;
  for (const std::string& name : weights.names()) {
    const auto [dtype, shape] = weights.kind(name);
    if (!is_floating(dtype)) continue;
    (dtype == DType::kF16 ? f16 : dtype == DType::kBF16 ? bf16 : wider) += shape.element_count();
  }
  if (f16 > bf16 && f16 > wider) return DType::kF16;
  return bf16 > wider ? DType::kBF16 : DType::kF32;
}

// Streamed parameters own the file together. One of them reads at a time, because `release` ends
// the views of the others.
struct StoredWeights::SharedFile {
  Weights weights;
  std::mutex guard = {};
};

void StoredWeights::stream(Parameter& parameter, const std::string& stored, DType dtype,
                           const BlockType* blocks,
                           std::function<PackedMatrix(const StoredWeights&)> read) const {
  if (!shared_) shared_ = std::make_shared<SharedFile>(weights_);
  heed::stream(parameter, dtype, blocks, [file = shared_, stored, read = std::move(read)] {
    const std::scoped_lock lock(file->guard);
    PackedMatrix packed = read(StoredWeights(file->weights, {}));
    file->weights.release(stored);
    return packed;
  });
}

void StoredWeights::stream_part(Parameter& parameter, const StackedName& part, const Shape& whole,
                                const Reading& reading) const {
  const Shape own = parameter.value.shape();
  if (part.has_blocks())
    return stream(parameter, part.name, DType::kF32, block_type_named("MXFP4"),
                  [part, own](const StoredWeights& file) {
                    const BlockRows blocks = file.read_blocks(part, own);
                    return PackedMatrix(*blocks.type, blocks.rows);
                  });
  const DType dtype = reading.packed.value_or(DType::kF32);
  const WeightLayout layout = parameter.linear.value_or(WeightLayout::kOutIn);
  stream(parameter, part.name, dtype, nullptr, [=](const StoredWeights& file) {
    return packed_form(layout, file.weights_.tensor(part.name, whole).select(0, part.index), dtype);
  });
}

void StoredWeights::load_streamed(Parameter& parameter, const std::string& stored,
                                  const Reading& reading) const {
  const Shape shape = parameter.value.shape();
  weights_.require(stored, shape);
  if (const std::optional<BlockRows> blocks = weights_.blocks(stored)) {
    weights_.release(stored);
    return stream(parameter, stored, DType::kF32, blocks->type,
                  [stored](const StoredWeights& file) {
                    const BlockRows rows = *file.weights_.blocks(stored);
                    return PackedMatrix(*rows.type, rows.rows);
                  });
  }
  const DType dtype = reading.packed.value_or(DType::kF32);
  const WeightLayout layout = parameter.linear.value_or(WeightLayout::kOutIn);
  stream(parameter, stored, dtype, nullptr, [=](const StoredWeights& file) {
    return packed_form(layout, file.weights_.tensor(stored, shape), dtype);
  });
}

void round_activations(const LoadedModel& loaded) {
  bool any = false;
  for (Parameter* const parameter : loaded.model->parameters())
    if (parameter->packed != nullptr && parameter->packed->blocks() != nullptr) {
      parameter->packed =
          std::make_shared<const PackedMatrix>(parameter->packed->multiplied_by_bytes());
      any = true;
    }
  if (!any)
    fail({.code = ErrorCode::kUnsupported,
          .argument = "activations",
          .found = "q8",
          .expected = fmt::format("f32: no weight of {} is quantised in blocks", loaded.name)});
}

}  // namespace heed
