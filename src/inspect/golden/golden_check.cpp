#include "inspect/golden/golden_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "base/file.h"
#include "base/formats/json.h"
#include "heed/generate.h"
#include "ops/loss.h"
#include "tensor/text.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 9> kInputs = {
    "input_ids", "attention_mask", "token_type_ids", "decoder_input_ids",   "labels",
    "targets",   "tokens",         "greedy_prompt",  "greedy_decoder_start"};

// golden.json: one number for everything, or one per kind.
class Tolerances {
 public:
  Tolerances(const fs::path& path, DType dtype) : is_narrow_(size_bytes(dtype) == 2) {
    if (!fs::exists(path)) return;
    const JsonText json = JsonText::parse(read_file(path), {.file = path.string()});
    const char* type = dtype == DType::kF16 ? "float16" : "bfloat16";
    const Json& said =
        json.root()[is_narrow_ ? fmt::format("reference_computed_in_{}_differs_by_max_abs", type)
                               : "tolerance"];
    all_ = said.as_number();
    for (const auto& [kind, value] : said.members())
      if (const auto number = value.as_number()) kinds_.emplace_back(kind, *number);
  }

  // Unless golden.json says otherwise, numbers beyond 50 may differ by as many f32 steps as 50 may.
  double of(const std::string& name, double largest) const {
    const double told = of(name);
    return is_narrow_ || all_ || !kinds_.empty() ? told : std::max(told, 2e-6 * largest);
  }

  double of_ids() const { return is_narrow_ ? std::numeric_limits<double>::infinity() : 0; }
  double of(const std::string& name) const {
    for (const auto& [kind, tolerance] : kinds_)
      if (name.find(kind) != std::string::npos) return tolerance;
    if (is_narrow_) return std::numeric_limits<double>::infinity();
    const bool attention = name.find("attentions") != std::string::npos;
    return all_.value_or(attention ? 1e-5 : 1e-4);
  }

 private:
  bool is_narrow_;
  std::optional<double> all_;
  std::vector<std::pair<std::string, double>> kinds_;
};

double largest_number(const ConstView& x) {
  const Tensor wide = Tensor::converted(x, DType::kF64);
  double largest = 0;
  for (std::int64_t i = 0; i < wide.element_count(); ++i)
    largest = std::max(largest, std::abs(wide.data<double>()[i]));
  return largest;
}

double largest_difference(const ConstView& a, const ConstView& b) {
  const Tensor left = Tensor::converted(a, DType::kF64);
  const Tensor right = Tensor::converted(b, DType::kF64);
  double largest = 0;
  for (std::int64_t i = 0; i < left.element_count(); ++i) {
    const double l = left.data<double>()[i], r = right.data<double>()[i];
    if (l == r) continue;  // including infinities
    const double difference = std::abs(l - r);
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

class Checker {
 public:
  Checker(const fs::path& folder, DType dtype)
      : folder_(folder),
        loaded_(load_model(folder,
                           {.tokenizers = false, .packed = dtype != DType::kF32, .dtype = dtype})),
        golden_(Safetensors::open(folder / "golden.safetensors")),
        tolerances_(folder / "golden.json", dtype) {
    pass_ = golden_pass(golden_, *loaded_.model);
  }

  GoldenReport report() const {
    GoldenReport report;
    for (const std::string& name : golden_.names()) report.tensors.push_back(check(name));
    if (std::ranges::all_of(report.tensors, [](const GoldenTensor& tensor) {
          return tensor.kind == GoldenTensor::Kind::kInput;
        }))
      fail({.code = ErrorCode::kCorrupt,
            .file = (folder_ / "golden.safetensors").string(),
            .found = "inputs alone",
            .expected = "a tensor to compare with: logits, hidden_states.0, ..."});
    return report;
  }

 private:
  GoldenTensor check(const std::string& name) const {
    GoldenTensor tensor = {.name = name, .tolerance = tolerances_.of(name)};
    if (std::ranges::find(kInputs, name) != kInputs.end()) {
      tensor.kind = GoldenTensor::Kind::kInput;
    } else if (name == "greedy") {
      tensor.tolerance = tolerances_.of_ids();
      tensor.worst = differing_ids();
    } else if (name == "loss") {
      tensor.worst = std::abs(loss() - published_loss());
    } else if (const auto found = pass_.values.find(name); found != pass_.values.end()) {
      tensor.worst = worst_row(name, found->second);
      tensor.tolerance = tolerances_.of(name, largest_number(golden_.tensor(name)));
    } else {
      tensor.kind = GoldenTensor::Kind::kUnknown;
    }
    return tensor;
  }

  double worst_row(const std::string& name, const GoldenValue& got) const {
    const ConstView wanted = golden_.tensor(name);
    if (wanted.shape() != got.value.shape()) return std::numeric_limits<double>::infinity();
    const auto& lengths = got.of_source ? pass_.source_lengths : pass_.lengths;
    double worst = 0;
    for (std::int64_t b = 0; b < wanted.dim(0); ++b) {
      const std::int64_t length = lengths[static_cast<std::size_t>(b)];
      const auto rows = [&](const ConstView& all) {
        return all.select(0, b).slice(got.rows_axis - 1, 0, length);
      };
      worst = std::max(worst, largest_difference(rows(got.value), rows(wanted)));
    }
    return worst;
  }

  double published_loss() const {
    const ConstView stored = golden_.tensor("loss");
    if (stored.element_count() != 1)
      refuse_golden(golden_, "loss", to_string(stored), "one number");
    return Tensor::converted(stored, DType::kF64).data<double>()[0];
  }

  // A decoder's label is the token itself, but it predicts the next one.
  double loss() const {
    const ModelInfo& info = loaded_.model->info();
    const Tensor labels =
        golden_ids(golden_, {.name = "labels", .end = info.vocabulary, .may_be_ignored = true});
    if (labels.shape() != pass_.ids.shape())
      refuse_golden(golden_, "labels.shape", to_string(labels.shape()),
                    to_string(pass_.ids.shape()));
    const bool shifted = info.causal && !info.reads_source();
    Tensor targets = Tensor::empty(labels.shape(), DType::kI32);
    const std::int64_t length = labels.dim(1);
    for (std::int64_t i = 0; i < labels.element_count(); ++i) {
      const bool none = shifted && (i + 1) % length == 0;
      targets.data<std::int32_t>()[i] =
          none ? kIgnoredTarget : labels.data<std::int32_t>()[shifted ? i + 1 : i];
    }
    const auto logits = pass_.values.find("logits");
    if (logits == pass_.values.end()) return std::numeric_limits<double>::infinity();
    return cross_entropy({.logits = logits->second.value, .targets = targets}).mean;
  }

  double differing_ids() const {
    const ModelInfo& info = loaded_.model->info();
    const Tensor wanted = golden_ids(golden_, {.name = "greedy", .end = info.vocabulary});
    const Tensor prompt = golden_ids(
        golden_, {.name = "greedy_prompt",
                  .end = info.reads_source() ? info.source_vocabulary : info.vocabulary});
    const auto ids_of = [](const Tensor& ids) {
      return std::vector<TokenId>(ids.data<TokenId>(), ids.data<TokenId>() + ids.dim(1));
    };
    GenerateArgs args = {.prompts = {ids_of(prompt)},
                         .most_tokens = wanted.dim(1),
                         .sampling = {.temperature = 0},
                         .stop_at_end = false};
    if (info.reads_source()) {
      args.sources = std::move(args.prompts);
      args.prompts = {
          ids_of(golden_ids(golden_, {.name = "greedy_decoder_start", .end = info.vocabulary}))};
    }
    const std::vector<GeneratedToken> written = generate(*loaded_.model, args)[0].tokens;
    auto differing = static_cast<double>(wanted.dim(1) - std::ssize(written));
    for (std::size_t i = 0; i < written.size(); ++i)
      if (written[i].id != wanted.data<TokenId>()[i]) ++differing;
    return differing;
  }

  fs::path folder_;
  LoadedModel loaded_;
  Safetensors golden_;
  Tolerances tolerances_;
  GoldenPass pass_;
};

}  // namespace

bool GoldenReport::passed() const {
  return std::ranges::all_of(tensors, [](const GoldenTensor& tensor) { return tensor.passed(); });
}

GoldenReport check_golden(const fs::path& folder, DType dtype) {
  if (fs::is_regular_file(folder))
    fail({.code = ErrorCode::kInvalidArgument,
          .file = folder.string(),
          .found = "is a file, which has no published numbers beside it",
          .expected = "a model folder with golden.safetensors"});
  if (fs::is_directory(folder) && !fs::exists(folder / "golden.safetensors"))
    fail({.code = ErrorCode::kNotFound,
          .file = folder.string(),
          .found = "has no golden.safetensors",
          .expected = "a model folder with published numbers"});
  return Checker(folder, dtype).report();
}

}  // namespace heed
