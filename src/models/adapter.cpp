#include "models/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/model.h"
#include "tensor/text.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "adapter_model.safetensors";

bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

// The change of one tensor of the base model.
struct Change {
  std::string a = {}, b = {};  // names of the two matrices
  std::string whole = {};      // the tensor that replaces that of the base
  double scale = 0;
  bool transposed = false;  // W is [inputs, outputs], like A B
};

// W += scale B A, one row of W at a time: B [out, r], A [r, in].
void add_product(Tensor& weight, const Tensor& b, const Tensor& a, double scale) {
  const std::int64_t rows = weight.dim(0), columns = weight.dim(1), r = a.dim(0);
  for (std::int64_t row = 0; row < rows; ++row) {
    float* const to = weight.data<float>() + row * columns;
    for (std::int64_t k = 0; k < r; ++k) {
      const float factor = static_cast<float>(scale) * b.data<float>()[row * r + k];
      const float* const from = a.data<float>() + k * columns;
      for (std::int64_t i = 0; i < columns; ++i) to[i] += factor * from[i];
    }
  }
}

// The files of the base model, with the adapter's changes applied.
class AdaptedFile final : public TensorFile {
 public:
  AdaptedFile(Weights base, Safetensors adapter, std::map<std::string, Change> changes)
      : base_(std::move(base)), adapter_(std::move(adapter)), changes_(std::move(changes)) {
    for (const std::string& name : base_.names())
      if (path_.empty()) path_ = base_.file(name);
  }

  const fs::path& path() const override { return path_; }
  std::vector<std::string> names() const override { return base_.names(); }
  bool contains(const std::string& name) const override {
    return base_.contains(name) && base_.stored_name(name) == name;
  }
  TensorKind kind(const std::string& name) const override { return base_.kind(name); }
  ConstView tensor(const std::string& name) const override {
    if (!changes_.contains(name)) return base_.tensor(name);
    const std::scoped_lock lock(guard_);
    auto found = read_.find(name);
    if (found == read_.end()) found = read_.emplace(name, load_f32(name)).first;
    return found->second.view();
  }
  Tensor mapped(const std::string& name) const override {
    return changes_.contains(name) ? load_f32(name) : base_.mapped(name, base_.kind(name).shape);
  }
  Tensor load_f32(const std::string& name) const override {
    const Shape shape = base_.kind(name).shape;
    const auto found = changes_.find(name);
    if (found == changes_.end()) return base_.load_f32(name, shape);
    const Change& change = found->second;
    Tensor weight = change.whole.empty()
                        ? base_.load_f32(name, shape)
                        : Tensor::converted(adapter_.tensor(change.whole), DType::kF32);
    if (change.a.empty()) return weight;
    const Tensor a = matrix(change.a, change.transposed), b = matrix(change.b, change.transposed);
    if (change.transposed)
      add_product(weight, a, b, change.scale);
    else
      add_product(weight, b, a, change.scale);
    base_.release(name);
    return weight;
  }
  std::optional<BlockRows> blocks(const std::string& name) const override {
    return changes_.contains(name) ? std::nullopt : base_.blocks(name);
  }
  void release(const std::string& name) const override {
    base_.release(name);
    const std::scoped_lock lock(guard_);
    read_.erase(name);
  }
  const std::map<std::string, std::string>& metadata() const override { return no_metadata_; }

 private:
  Tensor matrix(const std::string& name, bool transposed) const {
    const Tensor own = Tensor::converted(adapter_.tensor(name), DType::kF32);
    return transposed ? Tensor::copy_of(own.view().permute({1, 0})) : own.share();
  }

  Weights base_;
  Safetensors adapter_;
  std::map<std::string, Change> changes_;
  fs::path path_;
  std::map<std::string, std::string> no_metadata_;
  mutable std::mutex guard_;
  mutable std::map<std::string, Tensor> read_;
};

// Maps an adapter's tensors to changes of the base's tensors.
class Reader {
 public:
  Reader(const Weights& base, const Safetensors& adapter, AdapterConfig config, bool is_gpt2,
         bool ties)
      : base_(base),
        adapter_(adapter),
        config_(std::move(config)),
        is_gpt2_(is_gpt2),
        ties_(ties) {}

  std::map<std::string, Change> run() {
    for (const std::string& name : adapter_.names()) read(name);
    if (changes_.empty()) refuse("the file", "no tensor", "at least one");
    for (auto& [target, change] : changes_) finish(target, change);
    return std::move(changes_);
  }

 private:
  [[noreturn]] void refuse(std::string_view name, Phrase found, Phrase expected) const {
    fail_in(adapter_.path().string(), std::string(name), std::move(found), std::move(expected),
            ErrorCode::kUnsupported);
  }

  void read(const std::string& name) {
    constexpr std::string_view kPrefix = "base_model.model.";
    constexpr std::pair<std::string_view, bool> kEndings[] = {{".lora_A.weight", true},
                                                              {".lora_B.weight", false},
                                                              {".lora_embedding_A", true},
                                                              {".lora_embedding_B", false}};
    std::string_view own = name;
    if (own.starts_with(kPrefix)) own.remove_prefix(kPrefix.size());
    for (const auto& [ending, is_a] : kEndings) {
      if (!own.ends_with(ending)) continue;
      const std::string module(own.substr(0, own.size() - ending.size()));
      Change& change = changes_[target_of(name, module + ".weight")];
      (is_a ? change.a : change.b) = name;
      change.transposed = ending.find("embedding") != std::string_view::npos;
      if (is_a) modules_[name] = module;
      return;
    }
    read_whole(name, std::string(own));
  }

  // A module that was trained in full, or a bias.
  void read_whole(const std::string& name, std::string own) {
    for (const std::string_view inside : {".base_layer.", ".modules_to_save.default."})
      if (const std::size_t at = own.find(inside); at != std::string::npos)
        own.replace(at, inside.size(), ".");
    if (own.find("lora_") != std::string::npos)
      refuse(name, "a tensor of another method", "lora_A, lora_B, or a whole module");
    Change& change = changes_[target_of(name, own)];
    if (!change.whole.empty()) refuse(name, "a second change of " + own, "one");
    change.whole = name;
  }

  // The base may omit prefixes of the model's names, or have additional ones.
  std::string target_of(const std::string& name, const std::string& wanted) const {
    for (std::size_t at = 0; at != std::string::npos && at < wanted.size();) {
      const std::string shorter = wanted.substr(at);
      if (base_.contains(shorter)) return base_.stored_name(shorter);
      const std::size_t dot = wanted.find('.', at);
      // "weight" alone or a layer's number is not a module
      if (dot == std::string::npos || wanted.find('.', dot + 1) == std::string::npos) break;
      at = dot + 1;
    }
    std::string found;
    for (const std::string& own : base_.names()) {
      if (!own.ends_with("." + wanted)) continue;
      if (!found.empty()) refuse(name, "of several tensors of the base", "of one");
      found = own;
    }
    if (found.empty())
      refuse(name, fmt::format("for {}, which the base does not have", wanted),
             "a tensor of " + base_.file(base_.names().front()).string());
    return found;
  }

  // A head tied to the embeddings would change with them; in peft it does not.
  void check_tied(const std::string& target, const std::string& name, bool is_embedding) const {
    constexpr std::string_view kTables[] = {"embed_tokens.weight", "wte.weight",
                                            "word_embeddings.weight", "embed_in.weight",
                                            "shared.weight"};
    const bool is_table = is_embedding || std::ranges::any_of(kTables, [&](std::string_view table) {
                            return target.ends_with(table);
                          });
    if (is_table && ties_)
      refuse(name, "a change of the table of tokens, which is the base's head too (tied)",
             "other modules, or a base with tie_word_embeddings false");
  }

  void finish(const std::string& target, Change& change) const {
    const Shape shape = base_.kind(target).shape;
    if (!change.whole.empty()) {
      check_tied(target, change.whole, false);
      if (adapter_.kind(change.whole).shape != shape)
        refuse(change.whole, to_string(adapter_.kind(change.whole).shape), to_string(shape));
      if (change.a.empty() && change.b.empty()) return;
    }
    if (change.a.empty() || change.b.empty())
      refuse(change.a.empty() ? change.b : change.a, "without its other half", "A and B");
    check_tied(target, change.a, change.transposed);
    const Shape a = adapter_.kind(change.a).shape, b = adapter_.kind(change.b).shape;
    if (a.rank() != 2 || b.rank() != 2 || a[0] != b[1] || a[0] < 1)
      refuse(change.a, to_string(a) + " beside " + to_string(b), "[r, inputs] beside [outputs, r]");
    if (!change.transposed) change.transposed = is_stored_in_out(target, shape, a, b);
    const Shape due = change.transposed ? Shape{a[1], b[0]} : Shape{b[0], a[1]};
    if (shape != due) refuse(change.a, "for a weight " + to_string(due), to_string(shape));
    change.scale = config_.scale(modules_.at(change.a), a[0]);
  }

  // GPT-2's Conv1D. Its square weights fit both ways.
  bool is_stored_in_out(const std::string& target, const Shape& shape, const Shape& a,
                        const Shape& b) const {
    if (a[1] != b[0]) return shape == Shape{a[1], b[0]};
    const bool is_conv =
        target.find(".c_") != std::string::npos || target.find(".q_attn") != std::string::npos;
    return is_gpt2_ ? is_conv : config_.transposed;
  }

  const Weights& base_;
  const Safetensors& adapter_;
  AdapterConfig config_;
  bool is_gpt2_ = false;
  bool ties_ = false;
  std::map<std::string, Change> changes_;
  std::map<std::string, std::string> modules_;  // keyed by the name of A
};

// A model whose files have no separate head, or whose configuration ties it.
bool ties_head(const Weights& base, const Json& config) {
  if (const std::optional<bool> said = config["tie_word_embeddings"].as_flag(); said && *said)
    return true;
  return !std::ranges::any_of(base.names(), [](const std::string& name) {
    return name.ends_with("lm_head.weight") || name.ends_with("embed_out.weight");
  });
}

}  // namespace

bool is_adapter(const fs::path& folder) {
  return is_there(folder / "adapter_config.json") && !is_there(folder / "model.safetensors") &&
         !is_there(folder / "model.safetensors.index.json");
}

fs::path base_model(const fs::path& folder) {
  if (!is_adapter(folder)) return folder;
  const std::string name = read_adapter_config(folder).base;
  const auto refuse = [&](Phrase found, Phrase expected) {
    fail_in((folder / "adapter_config.json").string(), "base_model_name_or_path", std::move(found),
            std::move(expected), ErrorCode::kNotFound);
  };
  fs::path base = folder / name;
  if (!is_there(base)) {
    try {
      base = find_model(name);
    } catch (const Error& error) {
      refuse(fmt::format("\"{}\", {}", name, "neither a path nor a known name"), error.expected());
    }
  }
  if (is_adapter(base)) refuse(fmt::format("\"{}\", an adapter itself", name), "a whole model");
  return base;
}

fs::path model_file(const fs::path& folder, std::string_view name) {
  if (!is_adapter(folder) || is_there(folder / name)) return folder / name;
  return base_model(folder) / name;
}

Weights adapted(Weights base, const fs::path& adapter, std::string_view config_json) {
  if (!is_there(adapter / kFile))
    fail({.code = is_there(adapter / "adapter_model.bin") ? ErrorCode::kUnsupported
                                                          : ErrorCode::kNotFound,
          .file = adapter.string(),
          .found = is_there(adapter / "adapter_model.bin")
                       ? "has its weights in adapter_model.bin alone"
                       : "has no weights",
          .expected = kFile,
          .hint =
              "peft writes it: PeftModel.from_pretrained(base, folder).save_pretrained(folder)"});
  const JsonText config = JsonText::parse(std::string(config_json), {.file = "config"});
  Safetensors file = Safetensors::open(adapter / kFile);
  const bool is_gpt2 = config.root()["model_type"] == Json("gpt2");
  std::map<std::string, Change> changes =
      Reader(base, file, read_adapter_config(adapter), is_gpt2, ties_head(base, config.root()))
          .run();
  return Weights::of(
      std::make_shared<AdaptedFile>(std::move(base), std::move(file), std::move(changes)));
}

}  // namespace heed
