#include "models/gguf_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/formats/json.h"
#include "heed/error.h"
#include "heed/tensor.h"
#include "models/gguf_architecture.h"
#include "tensor/views.h"

namespace heed {
namespace {

std::vector<double> numbers_of(const Gguf& file, std::string_view name, const GgufTensor& tensor) {
  if (tensor.type->plain != DType::kF32) file.refuse(name, tensor.type->name, "F32");
  const Tensor copy =
      Tensor::copy_of(ConstView(file.bytes(tensor).data(), DType::kF32, tensor.shape));
  const auto* numbers = copy.data<float>();
  return {numbers, numbers + copy.element_count()};
}

GgufContent content_of(const Gguf& file) {
  GgufContent content = {
      .file = file.path().string(),
      .value = [&file](std::string_view key) -> const Json& { return file[key]; }};
  for (const auto& [name, tensor] : file.tensors()) {
    content.tensors.emplace(name, tensor.shape);
    if (is_factors(name)) content.factors.emplace(name, numbers_of(file, name, tensor));
  }
  return content;
}

}  // namespace

GgufModel::GgufModel(Gguf file)
    : file_(std::move(file)),
      content_(content_of(file_)),
      architecture_(gguf_architecture(content_)) {}

std::shared_ptr<const GgufModel> GgufModel::open(const std::filesystem::path& path) {
  return std::shared_ptr<const GgufModel>(new GgufModel(Gguf::open(path)));
}

std::string GgufModel::config_json() const {
  return gguf_config(architecture_, content_).dump(2) + "\n";
}

const GgufModel::Entries& GgufModel::entries() const {
  std::call_once(once_, [this] { entries_ = make_entries(); });
  return entries_;
}

GgufModel::Entries GgufModel::make_entries() const {
  const std::vector<GgufName> names = gguf_names(architecture_, config());
  Entries entries;
  for (const auto& [name, tensor] : file_.tensors()) {
    if (is_factors(name)) continue;  // part of the configuration
    for (const Part& part : parts_of(name, tensor, names)) {
      // Keeps a name that is not in the table: no model has such a parameter, so loading reports
      // it.
      const std::vector<RenamedTensor> known =
          renamed(names, part.name, &GgufName::stored, &GgufName::hub);
      RenamedTensor hub = known.empty() ? RenamedTensor{.name = part.name} : known.front();
      const bool is_vector = tensor.shape.rank() == 1;
      if (is_vector && hub.change == GgufChange::kTransposed) hub.change = GgufChange::kNone;
      if (const std::size_t expert = hub.name.find('%'); expert != std::string::npos) {
        add_experts(name, tensor, hub, expert, entries);
        continue;
      }
      Shape shape = tensor.shape;
      shape[0] = part.rows;
      if (is_vector && name.ends_with("inp_shexp.weight")) shape = {1, part.rows};
      entries.emplace(std::move(hub.name), Entry{.tensor = &tensor,
                                                 .change = hub.change,
                                                 .shape = shape,
                                                 .first_row = part.first_row});
    }
  }
  require_both_halves(entries);
  return entries;
}

void GgufModel::require_both_halves(const Entries& entries) const {
  for (const auto& [name, entry] : entries)
    if (entry.is_halved && (entry.tensor == nullptr || entry.odd == nullptr ||
                            entry.tensor->shape != entry.odd->shape))
      file_.refuse(name, "half of its rows", "ffn_gate_exps and ffn_up_exps of one shape");
}

GgufModel::Entry GgufModel::Entry::half(const GgufTensor* of) const {
  Entry own = {.tensor = of, .shape = shape, .first_row = first_row};
  own.shape[0] /= 2;
  return own;
}

void GgufModel::add_experts(const std::string& stored, const GgufTensor& tensor,
                            const RenamedTensor& hub, std::size_t expert, Entries& entries) const {
  const bool is_vector = stored.ends_with(".bias") || stored.ends_with("_norm.weight");
  if (tensor.shape.rank() != (is_vector ? 2 : 3))
    file_.refuse(
        stored, to_string(tensor.shape),
        is_vector ? "two axes: experts or heads, rows" : "three axes: experts, rows, columns");
  const std::int64_t rows = tensor.shape[1];
  Entry entry = {.change = is_vector ? GgufChange::kNone : hub.change,
                 .shape = is_vector ? Shape{rows} : Shape{rows, tensor.shape[2]},
                 .is_halved = hub.rows != GgufRows::kAll};
  if (entry.is_halved) entry.shape[0] *= 2;
  for (std::int64_t i = 0; i < tensor.shape[0]; ++i) {
    std::string name = hub.name;
    name.replace(expert, 1, std::to_string(i));
    entry.first_row = i * (is_vector ? 1 : rows);  // all numbers of a vector are one row
    Entry& own = entries.try_emplace(std::move(name), entry).first->second;
    (hub.rows == GgufRows::kOdd ? own.odd : own.tensor) = &tensor;
  }
}

std::vector<GgufModel::Part> GgufModel::parts_of(const std::string& name, const GgufTensor& tensor,
                                                 const std::vector<GgufName>& names) const {
  constexpr std::string_view kFused = "attn_qkv.";
  const std::int64_t rows = tensor.shape[0];
  const std::size_t fused = name.find(kFused);
  if (fused == std::string::npos ||
      !renamed(names, name, &GgufName::stored, &GgufName::hub).empty())
    return {{.name = name, .rows = rows}};
  const GgufKeys keys(content_, architecture_.name);
  const std::int64_t heads = keys.count("attention.head_count"),
                     kv_heads = keys.count("attention.head_count_kv", heads);
  const std::int64_t all = heads + 2 * kv_heads;
  if (rows % all != 0)
    file_.refuse(name, to_string(tensor.shape), fmt::format("a multiple of {} rows", all));
  std::vector<Part> parts;
  std::int64_t first = 0;
  for (const auto& [part, count] : {std::pair("attn_q.", heads), std::pair("attn_k.", kv_heads),
                                    std::pair("attn_v.", kv_heads)}) {
    std::string own = name;
    own.replace(fused, kFused.size(), part);
    parts.push_back({.name = std::move(own), .first_row = first, .rows = count * rows / all});
    first += parts.back().rows;
  }
  return parts;
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
  // Like llama.cpp, ignores an id that no token has.
  const std::size_t count = file_["tokenizer.ggml.tokens"].items().size();
  const auto id = [&](const char* key) {
    const std::int64_t found =
        file_[fmt::format("tokenizer.ggml.{}_token_id", key)].as_whole_number().value_or(-1);
    return std::cmp_less(found, count) ? found : -1;
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
                             .separator = id("seperator"),  // the spelling in the format
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
  for (const auto& [name, entry] : entries()) names.push_back(name);
  return names;
}

const GgufModel::Entry& GgufModel::entry(const std::string& name) const {
  const auto found = entries().find(name);
  if (found == entries().end())
    fail({.code = ErrorCode::kNotFound,
          .file = path().string(),
          .found = fmt::format("has no tensor '{}'", name),
          .hint = "as the hub's model calls it"});
  return found->second;
}

TensorKind GgufModel::kind(const std::string& name) const {
  const Entry& at = entry(name);
  Shape shape = at.shape;
  if (at.change == GgufChange::kTransposed) shape = {shape[1], shape[0]};
  // A block's scale is an f16, and a code has at most 8 bits, so f16 rounds less than the blocks.
  return {.dtype = at.tensor->type->plain.value_or(DType::kF16), .shape = shape};
}

std::optional<DType> GgufModel::plain_type(const Entry& entry) {
  const bool is_as_stored = entry.change == GgufChange::kNone && !entry.is_halved;
  return is_as_stored ? entry.tensor->type->plain : std::nullopt;
}

std::span<const std::byte> GgufModel::bytes(const Entry& entry) const {
  const std::span<const std::byte> all = file_.bytes(*entry.tensor);
  const Shape& whole = entry.tensor->shape;
  if (entry.shape.element_count() == whole.element_count()) return all;
  const std::int64_t width = whole.rank() == 1 ? 1 : whole[whole.rank() - 1];
  const std::size_t row = all.size() / static_cast<std::size_t>(whole.element_count() / width);
  return all.subspan(static_cast<std::size_t>(entry.first_row) * row,
                     static_cast<std::size_t>(entry.shape.element_count() / width) * row);
}

Tensor GgufModel::read(const Entry& entry) const {
  if (entry.is_halved)
    return as_on_the_hub(interleaved(read(entry.half(entry.tensor)), read(entry.half(entry.odd))),
                         entry.change);
  const GgufType& type = *entry.tensor->type;
  const std::span<const std::byte> stored = bytes(entry);
  if (type.plain)
    return as_on_the_hub(
        Tensor::converted(ConstView(stored.data(), *type.plain, entry.shape), DType::kF32),
        entry.change);
  Tensor tensor = Tensor::empty(entry.shape);
  read_blocks(*type.blocks, stored,
              {tensor.data<float>(), static_cast<std::size_t>(tensor.element_count())});
  return as_on_the_hub(tensor, entry.change);
}

Tensor swapped_rows(const Tensor& rows, std::int64_t outer, std::int64_t first,
                    std::int64_t second) {
  const std::int64_t width = rows.element_count() / (outer * first * second);
  const ConstView grouped = rows.view().reshape({outer, first, second, width});
  return Tensor::copy_of(grouped.permute({0, 2, 1, 3})).reshaped(rows.shape());
}

Tensor interleaved(const Tensor& even, const Tensor& odd) {
  Shape shape = even.shape();
  const std::int64_t rows = shape[0], width = even.element_count() / rows;
  shape[0] *= 2;
  Tensor all = Tensor::empty(shape, even.dtype());
  const View pairs = all.view().reshape({rows, 2, width});
  copy_elements(even.view().reshape({rows, width}), pairs.select(1, 0));
  copy_elements(odd.view().reshape({rows, width}), pairs.select(1, 1));
  return all;
}

Tensor rows_of(const Tensor& matrix, GgufRows rows) {
  if (rows == GgufRows::kAll) return matrix.share();
  Shape shape = matrix.shape();
  shape[0] /= 2;
  const ConstView pairs =
      matrix.view().reshape({shape[0], 2, matrix.element_count() / shape[0] / 2});
  return Tensor::copy_of(pairs.select(1, rows == GgufRows::kEven ? 0 : 1)).reshaped(shape);
}

Tensor rows_by_key(const Tensor& rows, std::int64_t heads, std::int64_t kv_heads, bool back) {
  const std::int64_t each = heads / kv_heads, width = rows.element_count() / (heads + 2 * kv_heads);
  Tensor to = Tensor::empty(rows.shape(), rows.dtype());
  const auto size = static_cast<std::size_t>(width) * size_bytes(rows.dtype());
  const auto* from = static_cast<const std::byte*>(rows.view().raw());
  auto* into = static_cast<std::byte*>(to.view().raw());
  for (std::int64_t key = 0; key < kv_heads; ++key)
    for (std::int64_t part = 0; part < each + 2; ++part) {
      const std::int64_t in_order = part < each    ? key * each + part
                                    : part == each ? heads + key
                                                   : heads + kv_heads + key;
      const std::int64_t by_key = key * (each + 2) + part;
      std::memcpy(into + static_cast<std::size_t>(back ? in_order : by_key) * size,
                  from + static_cast<std::size_t>(back ? by_key : in_order) * size, size);
    }
  return to;
}

Tensor GgufModel::as_on_the_hub(const Tensor& stored, GgufChange change) const {
  if (change == GgufChange::kNone) return stored.share();
  if (change == GgufChange::kTransposed) return Tensor::copy_of(stored.view().permute({1, 0}));
  if (change == GgufChange::kLessOne) {
    Tensor less = stored.clone();
    for (std::int64_t i = 0; i < less.element_count(); ++i) less.data<float>()[i] -= 1;
    return less;
  }
  const GgufKeys keys(content_, architecture_.name);
  const std::int64_t all = keys.count("attention.head_count");
  const std::int64_t kv_heads = keys.count("attention.head_count_kv", all);
  const bool is_by_key = change == GgufChange::kHeadRows;
  const std::int64_t heads = change == GgufChange::kKeyRows ? kv_heads : all;
  const std::int64_t multiple = is_by_key ? all + 2 * kv_heads : 2 * heads;
  if (stored.dim(0) % multiple != 0)
    file_.refuse("a tensor of rotated rows", to_string(stored.shape()),
                 fmt::format("a multiple of {} rows", multiple));
  return is_by_key ? rows_by_key(stored, all, kv_heads, /*back=*/false)
                   : swapped_rows(stored, heads, stored.dim(0) / heads / 2, 2);
}

ConstView GgufModel::tensor(const std::string& name) const {
  const Entry& at = entry(name);
  if (const std::optional<DType> plain = plain_type(at))
    return {bytes(at).data(), *plain, at.shape};
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

std::optional<BlockRows> GgufModel::blocks(const std::string& name) const {
  return blocks(entry(name));
}

std::optional<BlockRows> GgufModel::blocks(const Entry& at) const {
  const BlockType* const type = at.tensor->type->blocks;
  if (at.is_halved) {
    if (type == nullptr || at.shape.rank() != 2 || at.odd->type != at.tensor->type) return {};
    const std::optional<BlockRows> even = blocks(at.half(at.tensor)), odd = blocks(at.half(at.odd));
    if (!even || !odd) return {};
    return BlockRows{type, interleaved(even->rows, odd->rows)};
  }
  if (type == nullptr || at.shape.rank() != 2) return {};
  const std::span<const std::byte> stored = bytes(at);
  const std::int64_t rows = at.shape[0];
  const ConstView view(stored.data(), DType::kU8, {rows, std::ssize(stored) / rows});
  Tensor in_order = Tensor::over(file_.owner(*at.tensor), view);
  // Blocks extend along the inputs, whatever the orientation of the hub's matrix.
  if (at.change != GgufChange::kTransposed) in_order = as_on_the_hub(in_order, at.change);
  return BlockRows{type, std::move(in_order)};
}

void GgufModel::release(const std::string& name) const {
  const Entry& at = entry(name);
  file_.release(*at.tensor);
  if (at.odd != nullptr) file_.release(*at.odd);
  const std::scoped_lock lock(guard_);
  read_.erase(name);
}

const std::map<std::string, std::string>& GgufModel::metadata() const {
  static const std::map<std::string, std::string> kNone;
  return kNone;
}

}  // namespace heed
