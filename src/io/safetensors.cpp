// Reads and writes safetensors.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "io/atomic_file.h"
#include "io/safetensors_header.h"
#include "io/tensor_files.h"
#include "tensor/views.h"

namespace heed {

struct Safetensors::Impl {
  explicit Impl(const std::filesystem::path& file) : path(file), map(file) {
    header = parse_safetensors_header(map.bytes(), path);
  }

  std::filesystem::path path;
  MappedFile map;
  SafetensorsHeader header;
};

Safetensors::Safetensors(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Safetensors Safetensors::open(const std::filesystem::path& path) {
  return Safetensors(std::make_shared<const Impl>(path));
}

const std::filesystem::path& Safetensors::path() const { return impl_->path; }

std::vector<std::string> Safetensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : impl_->header.tensors) names.push_back(name);
  return names;
}

bool Safetensors::contains(const std::string& name) const {
  return impl_->header.tensors.contains(name);
}

const std::map<std::string, std::string>& Safetensors::metadata() const {
  return impl_->header.metadata;
}

namespace {

[[noreturn]] void fail_without(const std::filesystem::path& path, const std::string& name,
                               std::vector<std::string> names) {
  constexpr std::size_t kShown = 8;
  constexpr std::size_t kLongest = 100;  // a corrupt file may contain any name
  const std::size_t count = names.size();
  names.resize(std::min(count, kShown));
  for (std::string& shown : names) shown = clipped(shown, kLongest);
  fail({.code = ErrorCode::kNotFound,
        .file = path.string(),
        .found = fmt::format("has no tensor '{}'", name),
        .hint = fmt::format("it holds {}: {}{}", count, joined(names, ", "),
                            count > kShown ? ", ..." : "")});
}

}  // namespace

ConstView Safetensors::tensor(const std::string& name) const {
  const auto found = impl_->header.tensors.find(name);
  if (found == impl_->header.tensors.end()) fail_without(impl_->path, name, names());
  const StoredTensor& stored = found->second;
  return {impl_->map.bytes().data() + stored.begin, stored.dtype, stored.shape};
}

void Safetensors::release(const std::string& name) const {
  const StoredTensor& stored = impl_->header.tensors.at(name);
  impl_->map.release(static_cast<std::size_t>(stored.begin), static_cast<std::size_t>(stored.end));
}

TensorKind Safetensors::kind(const std::string& name) const {
  const ConstView stored = tensor(name);
  return {.dtype = stored.dtype(), .shape = stored.shape()};
}

Tensor Safetensors::mapped(const std::string& name) const {
  const ConstView stored = tensor(name);
  if (stored.dtype() == DType::kF64 || !stored.is_aligned()) return load_f32(name);
  return Tensor::over(impl_, stored);
}

namespace {

// The header: names, types, shapes and places of the tensors, which follow it in this order.
std::string header_text(const std::filesystem::path& path,
                        const std::vector<const NamedView*>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  Json notes = {{"format", "pt"}};
  for (const auto& [key, value] : metadata) notes.set(key, value);
  Json header = {{"__metadata__", notes}};
  std::set<std::string_view> names = {"__metadata__"};
  std::size_t end = 0;
  for (const NamedView* tensor : tensors) {
    const auto& [name, view] = *tensor;
    if (!names.insert(name).second)
      fail_in(path.string(), "tensors", fmt::format("two called '{}'", name), "names that differ",
              ErrorCode::kInvalidArgument);
    const std::size_t begin = end;
    end += byte_count(view);
    header.add(name, {{"dtype", info(view.dtype()).safetensors_name},
                      {"shape", std::vector(view.shape().begin(), view.shape().end())},
                      {"data_offsets", Json::array({begin, end})}});
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const NamedView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const NamedView*> order;
  for (const NamedView& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::greater(), [](const NamedView* tensor) {
    return size_bytes(tensor->view.dtype());
  });
  const std::string text = header_text(path, order, metadata);
  const std::uint64_t length = text.size();
  AtomicFile file(path);
  file.write(&length, sizeof length);
  file.write(text);
  for (const NamedView* tensor : order) write_elements(file, tensor->view, tensor->view.dtype());
  file.commit();
}

}  // namespace heed
