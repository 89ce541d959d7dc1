// heed check: compares heed with published numbers. model: those beside a model's weights; onnx:
// ONNX's node tests.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <span>

#include "base/formats/json.h"
#include "cli/command.h"
#include "cli/options/option.h"
#include "cli/terminal/output.h"
#include "heed/error.h"
#include "heed/model.h"
#include "heed/tokenizer.h"
#include "inspect/golden/golden_check.h"
#include "models/stored_weights.h"
#include "onnx/node_tests.h"
#include "tensor/text.h"

namespace heed::cli {
namespace {

using onnx::NodeTestResult;
using onnx::Outcome;

constexpr std::array<const char*, 3> kOutcomes = {"passed", "failed", "skipped"};

const char* word(Outcome outcome) { return kOutcomes.at(static_cast<std::size_t>(outcome)); }

using Counts = std::array<int, 3>;

Json as_json(const NodeTestResult& result) {
  Json json = {{"name", result.name},
               {"status", word(result.outcome)},
               {"operator", result.op},
               {"opset", result.opset}};
  if (result.outcome == Outcome::kPassed)
    json.set("error", result.largest_error());
  else
    json.set("why", result.reason);
  Json worst = Json::object();
  for (const auto& [output, error] : result.worst) worst.set(output, error);
  if (!result.worst.empty()) json.set("worst", std::move(worst));
  return json;
}

std::string summary(const Counts& counts) {
  return fmt::format("{} passed, {} failed, {} skipped\n", counts[0], counts[1], counts[2]);
}

int check_onnx(const std::string& dir, bool json) {
  Counts counts = {};
  auto list = Json::array();
  for (const auto& folder : onnx::node_test_folders(dir)) {
    const NodeTestResult result = onnx::run_node_test(folder);
    ++counts.at(static_cast<std::size_t>(result.outcome));
    if (json)
      list.push(as_json(result));
    else if (result.outcome != Outcome::kPassed)
      print(fmt::format("{:<7}  {}: {}\n", word(result.outcome), displayable(result.name),
                        displayable(result.reason)));
  }
  if (json) {
    const Json whole = {{"passed", counts[0]},
                        {"failed", counts[1]},
                        {"skipped", counts[2]},
                        {"cases", std::move(list)}};
    print(whole.dump(2) + "\n");
  } else {
    print(summary(counts));
  }
  if (counts[0] + counts[1] == 0)
    fail({.code = ErrorCode::kFailed,
          .file = dir,
          .found = "no case was run",
          .expected = "ONNX's node tests"});
  return counts[1] == 0 ? 0 : 1;
}

const char* word(const GoldenTensor& tensor) {
  if (tensor.kind == GoldenTensor::Kind::kInput) return "input";
  if (tensor.kind == GoldenTensor::Kind::kUnknown) return "unknown";
  if (!std::isfinite(tensor.tolerance)) return "measured";
  return tensor.passed() ? "passed" : "failed";
}

std::string as_json(const std::string& dir, const GoldenReport& report) {
  auto list = Json::array();
  for (const GoldenTensor& tensor : report.tensors) {
    Json json = {{"name", tensor.name}, {"status", word(tensor)}};
    if (tensor.kind == GoldenTensor::Kind::kCompared) {
      json.set("worst", tensor.worst);
      if (std::isfinite(tensor.tolerance)) json.set("tolerance", tensor.tolerance);
    }
    list.push(std::move(json));
  }
  const Json whole = {{"model", dir}, {"passed", report.passed()}, {"tensors", std::move(list)}};
  return whole.dump(2) + "\n";
}

std::string as_text(const std::string& dir, const GoldenReport& report) {
  std::string text;
  std::size_t width = 0;
  std::map<std::string_view, int> counts;
  for (const GoldenTensor& tensor : report.tensors) width = std::max(width, tensor.name.size());
  for (const GoldenTensor& tensor : report.tensors) {
    ++counts[word(tensor)];
    if (tensor.kind == GoldenTensor::Kind::kInput) continue;
    text += fmt::format("{:<7}  {:<{}}", word(tensor), displayable(tensor.name), width);
    if (tensor.kind == GoldenTensor::Kind::kUnknown)
      text += "  heed has no value of this name\n";
    else if (std::isfinite(tensor.tolerance))
      text += fmt::format("  worst {:<8.2g} of {:.2g}\n", tensor.worst, tensor.tolerance);
    else
      text +=
          fmt::format("  worst {:<8.2g} golden.json has no tolerance in this type\n", tensor.worst);
  }
  const std::string measured =
      counts["measured"] > 0 ? fmt::format("{} measured, ", counts["measured"]) : "";
  return text + fmt::format("{}: {} passed, {} failed, {}{} unknown, {} inputs\n", displayable(dir),
                            counts["passed"], counts["failed"], measured, counts["unknown"],
                            counts["input"]);
}

int check_model(const std::string& dir, DType dtype, bool json) {
  const GoldenReport report = check_golden(find_model(dir), dtype);
  print(json ? as_json(dir, report) : as_text(dir, report));
  return report.passed() ? 0 : 1;
}

// How far the logits of activations rounded to 8 bits are from those of f32.
struct RoundingError {
  std::int64_t tokens = 0;
  double largest = 0, mean = 0;  // differences of logits
  double least_logit = 0, most_logit = 0;
  std::int64_t other_next = 0;  // tokens whose most likely next one is another
  double divergence = 0;        // mean of KL(f32 || q8) in nats
};

Tensor logits_of(const Model& model, const Batch& batch) {
  heed::Run run = {.in_bulk = true};
  return model.forward(batch, run);
}

void compare(std::span<const float> exact, std::span<const float> rounded, RoundingError& error) {
  const auto [least, most] = std::ranges::minmax_element(exact);
  error.least_logit = std::min<double>(error.least_logit, *least);
  error.most_logit = std::max<double>(error.most_logit, *most);
  const auto next = std::ranges::max_element(rounded);
  error.other_next += next - rounded.begin() != most - exact.begin();
  double sum = 0, rounded_sum = 0, divergence = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    sum += std::exp(double{exact[i]} - *most);
    rounded_sum += std::exp(double{rounded[i]} - *most);
  }
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double difference = double{exact[i]} - rounded[i];
    error.largest = std::max(error.largest, std::abs(difference));
    error.mean += std::abs(difference) / static_cast<double>(exact.size());
    divergence += std::exp(double{exact[i]} - *most) / sum * difference;
  }
  error.divergence += std::max(0.0, divergence + std::log(rounded_sum / sum));
}

// On the same 64 tokens, drawn at random: random weights have no text that suits them.
RoundingError measure_rounding(const std::filesystem::path& folder) {
  const LoadedModel loaded = load_model(folder, {.tokenizers = false, .packed = true});
  const ModelInfo& info = loaded.model->info();
  if (!info.has_logits)
    fail({.code = ErrorCode::kUnsupported,
          .argument = "--activations",
          .found = "q8",
          .expected = fmt::format("a model with logits; {} has none", loaded.name)});
  const std::int64_t tokens = std::min<std::int64_t>(64, info.positions);
  std::mt19937 random(1);
  const auto drawn = [&](std::int64_t vocabulary) {
    Tensor ids = Tensor::empty({1, tokens}, DType::kI32);
    std::generate_n(ids.data<std::int32_t>(), tokens,
                    [&] { return static_cast<std::int32_t>(random() % vocabulary); });
    return ids;
  };
  const Tensor ids = drawn(info.vocabulary);
  const Tensor source = info.reads_source() ? drawn(info.source_vocabulary) : Tensor();
  const Batch batch = {.ids = ids, .source = source.given() ? source.view() : ConstView()};
  const Tensor wanted = logits_of(*loaded.model, batch);
  round_activations(loaded);
  const Tensor found = logits_of(*loaded.model, batch);
  RoundingError error = {.tokens = tokens};
  const auto width = static_cast<std::size_t>(wanted.dim(2));
  for (std::int64_t at = 0; at < tokens; ++at)
    compare({wanted.data<float>() + at * wanted.dim(2), width},
            {found.data<float>() + at * wanted.dim(2), width}, error);
  error.mean /= static_cast<double>(tokens);
  error.divergence /= static_cast<double>(tokens);
  return error;
}

int check_activations(const std::string& dir, bool json) {
  const RoundingError error = measure_rounding(find_model(dir));
  const Json whole = {{"model", dir},
                      {"tokens", error.tokens},
                      {"largest_difference", error.largest},
                      {"mean_difference", error.mean},
                      {"least_logit", error.least_logit},
                      {"most_logit", error.most_logit},
                      {"other_next", error.other_next},
                      {"divergence", error.divergence}};
  const std::string text = fmt::format(
      "{}: activations in q8 beside f32, {} random tokens\n"
      "logits differ by {:.2g} in the mean, {:.2g} at most; they lie from {:.3g} to {:.3g}\n"
      "another token is the most likely next one after {} of {}; KL divergence {:.2g} nats a "
      "token\n",
      displayable(dir), error.tokens, error.mean, error.largest, error.least_logit,
      error.most_logit, error.other_next, error.tokens, error.divergence);
  print(json ? whole.dump(2) + "\n" : text);
  return 0;
}

struct CheckOptions {
  std::string what, dir;
  DType dtype = DType::kF32;
  bool byte_activations = false;
  bool json = false;
};

int check(const CheckOptions& options, const Given& given) {
  if (options.what == "onnx" && given.has("--dtype"))
    fail({.argument = "--dtype", .found = "given with onnx", .expected = "it with model"});
  if (options.byte_activations && (options.what == "onnx" || given.has("--dtype")))
    fail({.argument = "--activations",
          .found = "q8",
          .expected = "it with model, and without --dtype"});
  if (options.byte_activations) return check_activations(options.dir, options.json);
  if (options.what == "model") return check_model(options.dir, options.dtype, options.json);
  if (options.what != "onnx")
    fail({.argument = "WHAT",
          .found = fmt::format("\"{}\"", options.what),
          .expected = "model or onnx"});
  return check_onnx(options.dir, options.json);
}

Run declare_check(OptionList& list) {
  const auto options = std::make_shared<CheckOptions>();
  add(list, {{.name = "WHAT",
              .to = &options->what,
              .help = "what to check: model (a folder with golden.safetensors) or onnx",
              .expects = "model or onnx",
              .required = true},
             {.name = "DIR",
              .to = &options->dir,
              .help = "the model's folder, or a name that heed models lists; of onnx, a folder of "
                      "node tests or one of them",
              .expects = "a folder's name",
              .required = true},
             {.name = "--dtype",
              .to = [options](const std::string& name) { options->dtype = dtype_named(name); },
              .help = "of a model: hold its weights in this type (default: f32)",
              .words = {"f32", "f16", "bf16"}},
             activations_option(options->byte_activations),
             threads_option()});
  add_json_options(list, options->json, "every tensor or case");
  return [options](const Given& given) { return check(*options, given); };
}

}  // namespace

Command check_command() {
  return {"check", "compares heed with published numbers: a model's, or those of ONNX's node tests",
          "  heed check model models/llama\n"
          "  heed check model llama-q4_0.gguf --activations q8\n"
          "  heed check onnx onnx/backend/test/data/node\n"
          "  heed check onnx node/test_attention_4d_causal --json",
          declare_check};
}

}  // namespace heed::cli
