#include "models/gguf_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "heed/error.h"
#include "models/gguf_architecture.h"

namespace heed {

Tensor regrouped(const Tensor& rows, std::int64_t heads, std::int64_t groups) {
  const std::int64_t count = rows.dim(0) / heads / groups;
  const std::int64_t width = rows.element_count() / rows.dim(0);
  const ConstView grouped = rows.view().reshape({heads, groups, count, width});
  return Tensor::copy_of(grouped.permute({0, 2, 1, 3})).reshaped(rows.shape());
}

GgufModel::GgufModel(Gguf file) : file_(std::move(file)), architecture_(gguf_architecture(file_)) {
  for (const auto& [name, tensor] : file_.tensors()) {
    if (name == "rope_freqs.weight") continue;  // a part of the configuration
    // A name that is not in the table stays: no model has such a parameter, and loading says so.
    RenamedTensor hub = renamed(architecture_, name, &GgufName::stored, &GgufName::hub)
                            .value_or(RenamedTensor{.name = name});
    const bool is_vector = tensor.shape.rank() == 1;
    if (is_vector && hub.change == GgufChange::kTransposed) hub.change = GgufChange::kNone;
    tensors_.emplace(std::move(hub.name), Entry{.tensor = &tensor, .change = hub.change});
  }
}

std::shared_ptr<const GgufModel> GgufModel::open(const std::filesystem::path& path) {
  return std::shared_ptr<const GgufModel>(new GgufModel(Gguf::open(path)));
}

std::string GgufModel::config_json() const {
  return architecture_.config(GgufKeys(file_, architecture_.name)).dump(2) + "\n";
}

std::string GgufModel::stored_in() const {
  std::map<std::string_view, std::int64_t> counts;
  for (const auto& [name, tensor] : file_.tensors())
    counts[tensor.type->name] += tensor.shape.element_count();
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  return most == counts.end() ? "" : std::string(most->first);
}

namespace {

std::vector<std::string> texts_of(const Gguf& file, const char* key) {
  std::vector<std::string> texts;
  for (const Json& item : file[key].items()) {
    if (!item.is_text()) file.refuse(key, item.brief(), "a list of texts");
    texts.push_back(*item.as_text());
  }
  return texts;
}

}  // namespace

StoredVocabulary GgufModel::vocabulary() const {
  const auto text = [&](const char* key) {
    const std::string* found = file_[key].as_text();
    return found == nullptr ? std::string() : *found;
  };
  const auto id = [&](const char* key) {
    return file_[fmt::format("tokenizer.ggml.{}_token_id", key)].as_whole_number().value_or(-1);
  };
  const auto flag = [&](const char* key) {
    return file_[fmt::format("tokenizer.ggml.{}", key)].as_flag();
  };
  StoredVocabulary stored = {.file = path().string(),
                             .model = text("tokenizer.ggml.model"),
                             .pre = text("tokenizer.ggml.pre"),
                             .pieces = texts_of(file_, "tokenizer.ggml.tokens"),
                             .merges = texts_of(file_, "tokenizer.ggml.merges"),
                             .begin = id("bos"),
                             .end = id("eos"),
                             .unknown = id("unknown"),
                             .separator = id("seperator"),  // so spelled in the format
                             .padding = id("padding"),
                             .mask = id("mask"),
                             .first = id("cls"),
                             .add_begin = flag("add_bos_token"),
                             .add_end = flag("add_eos_token"),
                             .add_space_prefix = flag("add_space_prefix"),
                             .remove_extra_spaces = flag("remove_extra_whitespaces")};
  for (const Json& item : file_["tokenizer.ggml.scores"].items())
    stored.scores.push_back(static_cast<float>(item.as_number().value_or(0)));
  for (const Json& item : file_["tokenizer.ggml.token_type"].items())
    stored.types.push_back(item.as_whole_number().value_or(0));
  for (const Json& item : file_["tokenizer.ggml.precompiled_charsmap"].items())
    stored.charsmap += static_cast<char>(item.as_whole_number().value_or(0));
  return stored;
}

std::vector<std::string> GgufModel::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : tensors_) names.push_back(name);
  return names;
}

const GgufModel::Entry& GgufModel::entry(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    fail({.code = ErrorCode::kNotFound,
          .file = path().string(),
          .found = fmt::format("has no tensor '{}'", name),
          .hint = "as the hub's model calls it"});
  return found->second;
}

TensorKind GgufModel::kind(const std::string& name) const {
  const Entry& at = entry(name);
  Shape shape = at.tensor->shape;
  if (at.change == GgufChange::kTransposed) shape = {shape[1], shape[0]};
  // A scale of a block is an f16, and a code has at most 8 bits: f16 rounds less than the blocks
  // have.
  return {.dtype = at.tensor->type->plain.value_or(DType::kF16), .shape = shape};
}

std::optional<DType> GgufModel::plain_type(const Entry& entry) {
  return entry.change == GgufChange::kNone ? entry.tensor->type->plain : std::nullopt;
}

std::int64_t GgufModel::heads_of(GgufChange change) const {
  const GgufKeys keys(file_, architecture_.name);
  const std::int64_t heads = keys.count("attention.head_count");
  return change == GgufChange::kQueryRows ? heads : keys.count("attention.head_count_kv", heads);
}

Tensor GgufModel::read(const Entry& entry) const {
  const GgufTensor& stored = *entry.tensor;
  const std::span<const std::byte> bytes = file_.bytes(stored);
  Tensor tensor;
  if (stored.type->plain) {
    tensor =
        Tensor::converted(ConstView(bytes.data(), *stored.type->plain, stored.shape), DType::kF32);
  } else {
    tensor = Tensor::empty(stored.shape);
    read_gguf_numbers(*stored.type, bytes,
                      {tensor.data<float>(), static_cast<std::size_t>(tensor.element_count())});
  }
  switch (entry.change) {
    case GgufChange::kNone:
      break;
    case GgufChange::kQueryRows:
    case GgufChange::kKeyRows: {
      const std::int64_t heads = heads_of(entry.change);
      if (tensor.dim(0) % (2 * heads) != 0)
        file_.refuse("a tensor of rotated rows", to_string(tensor.shape()),
                     fmt::format("a multiple of {} rows", 2 * heads));
      tensor = regrouped(tensor, heads, tensor.dim(0) / heads / 2);
      break;
    }
    case GgufChange::kTransposed:
      tensor = Tensor::copy_of(tensor.view().permute({1, 0}));
      break;
    case GgufChange::kLessOne:
      for (std::int64_t i = 0; i < tensor.element_count(); ++i) tensor.data<float>()[i] -= 1;
  }
  return tensor;
}

ConstView GgufModel::tensor(const std::string& name) const {
  const Entry& at = entry(name);
  if (const std::optional<DType> plain = plain_type(at))
    return {file_.bytes(*at.tensor).data(), *plain, at.tensor->shape};
  const std::scoped_lock lock(guard_);
  auto found = read_.find(name);
  if (found == read_.end()) found = read_.emplace(name, read(at)).first;
  return found->second.view();
}

Tensor GgufModel::mapped(const std::string& name) const {
  const Entry& at = entry(name);
  if (plain_type(at)) {
    const ConstView view = tensor(name);
    if (view.dtype() != DType::kF64 && view.is_aligned())
      return Tensor::over(file_.owner(*at.tensor), view);
  }
  Tensor tensor = read(at);
  const DType dtype = kind(name).dtype;
  return dtype == DType::kF16 || dtype == DType::kBF16 ? Tensor::converted(tensor, dtype)
                                                       : std::move(tensor);
}

Tensor GgufModel::load_f32(const std::string& name) const { return read(entry(name)); }

void GgufModel::release(const std::string& name) const {
  file_.release(*entry(name).tensor);
  const std::scoped_lock lock(guard_);
  read_.erase(name);
}

const std::map<std::string, std::string>& GgufModel::metadata() const {
  static const std::map<std::string, std::string> kNone;
  return kNone;
}

}  // namespace heed
