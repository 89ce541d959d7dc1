// Every published model against its golden values.
#include "inspect/golden/golden_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "heed/model.h"
#include "io/atomic_file.h"
#include "io/tensor_files.h"
#include "models/config.h"
#include "models/family.h"
#include "models/gguf_architecture.h"
#include "support/compare.h"
#include "support/expect_error.h"
#include "support/places.h"
#include "support/scratch.h"
#include "support/shared_data.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

void expect_passed(const fs::path& folder) {
  const GoldenReport report = check_golden(folder);
  for (const GoldenTensor& tensor : report.tensors)
    EXPECT_TRUE(tensor.passed()) << folder << ": " << tensor.name << " differs by " << tensor.worst;
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, AgreesWithTransformers) {
  HEED_NEEDS_SHARED(fs::path("models") / GetParam());
  expect_passed(test::shared_data() / "models" / GetParam());
}

std::string test_name(const testing::TestParamInfo<const char*>& folder) {
  std::string name = folder.param;
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    SharedData, Golden,
    testing::Values("stories260k", "gpt-nano-sort", "makemore-induction", "aren-transliteration",
                    "tiny/gpt2", "tiny/gpt2-f16", "tiny/gpt2-hub-names",
                    "tiny/gpt2-inverse-layer-scale", "tiny/llama", "tiny/llama-tied",
                    "tiny/llama-bf16", "tiny/llama-sharded", "tiny/llama-rope-linear",
                    "tiny/llama-rope-dynamic", "tiny/llama-rope-llama3", "tiny/llama-rope-yarn",
                    "tiny/mistral", "tiny/qwen2", "tiny/qwen3", "tiny/bert", "tiny/bert-hub-names",
                    "tiny/roberta", "tiny/distilbert", "tiny/marian", "tiny/gemma2-stretch"),
    test_name);

// A folder with another file in the place of config.json.
class OlderConfig : public testing::TestWithParam<const char*> {};

TEST_P(OlderConfig, AgreesWithTransformersToo) {
  HEED_NEEDS_SHARED(fs::path("models/tiny") / GetParam());
  const fs::path from = test::shared_data() / "models/tiny" / GetParam();
  const test::Scratch scratch;
  for (const auto& entry : fs::directory_iterator(from))
    fs::copy(entry.path(), scratch / entry.path().filename().string());
  fs::copy_file(from / "config.v4.json", scratch / "config.json",
                fs::copy_options::overwrite_existing);
  expect_passed(scratch.folder());
}

INSTANTIATE_TEST_SUITE_P(SharedData, OlderConfig,
                         testing::Values("llama-rope-linear", "llama-rope-dynamic",
                                         "llama-rope-llama3", "llama-rope-yarn", "mistral", "qwen2",
                                         "qwen3"),
                         test_name);

// The reference with 16-bit weights differs from itself in f32 by at least this much.
TEST(GoldenCheck, InSixteenBitsAModelIsAsNearAsTheReference) {
  HEED_NEEDS_SHARED("models/tiny/llama-bf16");
  const fs::path tiny = test::shared_data() / "models/tiny";
  for (const auto& [name, dtype] :
       {std::pair("gpt2-f16", DType::kF16), std::pair("llama-bf16", DType::kBF16)}) {
    const GoldenReport report = check_golden(tiny / name, dtype);
    EXPECT_TRUE(report.passed()) << name;
    for (const GoldenTensor& tensor : report.tensors)
      if (tensor.name == "logits") {
        EXPECT_GT(tensor.tolerance, 1e-3) << name;
      }
  }
}

const fs::path kGoldens = fs::path(HEED_SOURCE_DIR) / "tests/models/golden";
const fs::path kCommitted = kGoldens / "gpt2";

TEST(GoldenCheck, CommittedModelsAgreeWithTransformers) {
  for (const char* family : {"gpt2", "llama", "qwen3_5", "bert", "marian", "t5"})
    expect_passed(kGoldens / family);
}

TEST(GoldenCheck, CommittedAdaptersAgreeWithPeft) {
  for (const auto& adapter : fs::directory_iterator(kGoldens / "lora"))
    expect_passed(adapter.path());
}

// A variant is one file: its configuration (metadata), its weights and its golden numbers.
void unpack(const fs::path& variant, const fs::path& folder) {
  constexpr std::string_view kWeight = "weight:";
  const Safetensors file = Safetensors::open(variant);
  std::vector<NamedView> weights, golden;
  for (const std::string& name : file.names())
    if (name.starts_with(kWeight))
      weights.push_back({name.substr(kWeight.size()), file.tensor(name)});
    else
      golden.push_back({name, file.tensor(name)});
  write_safetensors(folder / "model.safetensors", weights);
  write_safetensors(folder / "golden.safetensors", golden);
  write_file(folder / "config.json", file.metadata().at("config"));
}

// Logits of labels: of a text [B, labels], of tokens [B, T, labels].
void expect_classes(const fs::path& folder) {
  const Safetensors golden = Safetensors::open(folder / "golden.safetensors");
  const ConstView given = golden.tensor("input_ids");
  Tensor ids = Tensor::empty(given.shape(), DType::kI32);
  std::copy_n(given.data<std::int64_t>(), ids.element_count(), ids.data<std::int32_t>());
  heed::Run run;
  const Tensor logits = load_classifier(folder).model->forward({.ids = ids}, run);
  const ConstView due = golden.tensor("logits");
  ASSERT_EQ(logits.element_count(), due.element_count());
  EXPECT_LE(test::distance(logits.view().reshape(due.shape()), due), 1e-5);
}

TEST(GoldenCheck, VariantsOfEveryFamilyAgreeWithTransformers) {
  int variants = 0;
  for (const auto& entry : fs::directory_iterator(kGoldens / "variants")) {
    SCOPED_TRACE(entry.path().filename().string());
    const test::Scratch scratch;
    unpack(entry.path(), scratch.folder());
    const bool labels = entry.path().filename().string().starts_with("classes-");
    EXPECT_NO_THROW(labels ? expect_classes(scratch.folder()) : expect_passed(scratch.folder()));
    ++variants;
  }
  EXPECT_GT(variants, 39);
}

TEST(GoldenCheck, CodesOfExpertsThatDoNotFitAreNamed) {
  const test::Scratch scratch;
  unpack(kGoldens / "variants" / "gpt-oss-mxfp4.safetensors", scratch.folder());
  const fs::path path = scratch.folder() / "model.safetensors";
  const std::string scales = "model.layers.0.mlp.experts.down_proj_scales";
  std::vector<Tensor> kept;
  std::vector<NamedView> weights;
  {
    const Safetensors file = Safetensors::open(path);
    for (const std::string& name : file.names()) {
      kept.push_back(
          Tensor::copy_of(name == scales ? file.tensor(name).slice(1, 0, 31) : file.tensor(name)));
      weights.push_back({name, kept.back().view()});
    }
  }
  write_safetensors(path, weights);
  EXPECT_HEED_ERROR(load_model(scratch.folder()), ErrorCode::kCorrupt,
                    path.string() + ": " + scales + " is u8 [3, 31, 1], expected u8 [3, 32, 1]");
}

// The rows of a table, in the order of their first cells.
std::string table_of(const std::string& head, const std::set<std::string>& rows) {
  std::string table = head + "\n";
  for (const std::string& row : rows) table += row + "\n";
  return table;
}

std::string in_code(const std::set<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "`" : ", `") + name + "`";
  return list;
}

// Each `model_type` with its files of transformers' numbers, and each architecture of GGUF with the
// test that compares a file of it.
std::string tables_of_types() {
  std::map<std::string, std::set<std::string>> numbers, architectures, cases;
  for (const auto& entry : fs::directory_iterator(kGoldens / "variants")) {
    const std::string config = Safetensors::open(entry.path()).metadata().at("config");
    numbers[Config::parse(config, "config").text("model_type", "")].insert(
        entry.path().stem().string());
  }
  const fs::path scripts = fs::path(HEED_SOURCE_DIR) / "tests/peers";
  const std::string families = read_file(scripts / "gguf_families_test.py");
  const std::regex one_case("\n    \"([^\"]+)\": \\(\"([^\"]+)\", ");
  for (std::sregex_iterator at(families.begin(), families.end(), one_case), end; at != end; ++at)
    cases[(*at)[2]].insert((*at)[1]);
  std::set<std::string> types, names;
  const fs::path models = fs::path(HEED_SOURCE_DIR) / "tests/models";
  const std::pair<std::string, std::string> others[] = {
      {"tests/peers/gguf_test.py", read_file(scripts / "gguf_test.py")},
      {"tests/models/gguf_save_test.cpp", read_file(models / "gguf_save_test.cpp")}};
  for (const GgufArchitecture& architecture : gguf_architectures()) {
    const std::string name(architecture.name);
    std::set<std::string> read_as;
    for (const std::string_view type : architecture.model_types) {
      architectures[std::string(type)].insert(name);
      read_as.emplace(type);
    }
    std::string compared;
    if (cases.contains(name))
      compared = "tests/peers/gguf_families_test.py: " + in_code(cases[name]);
    for (const auto& [file, text] : others)
      if (compared.empty() && text.find(fmt::format("\"{}\"", name)) != std::string::npos)
        compared = file;
    EXPECT_FALSE(compared.empty()) << name;
    names.insert(fmt::format("| `{}` | {} | {} |", name, in_code(read_as), compared));
  }
  for (const std::string_view known : known_model_types()) {
    const std::string type(known);
    if (type != "lesson") {
      EXPECT_TRUE(numbers.contains(type)) << type;
      types.insert(fmt::format("| `{}` | {} | {} |", type, in_code(architectures[type]),
                               in_code(numbers[type])));
    }
  }
  return table_of(
             "| `model_type` | `general.architecture` | `tests/models/golden/variants` |\n"
             "|---|---|---|",
             types) +
         "\n" +
         table_of("| `general.architecture` | written of | compared in |\n|---|---|---|", names);
}

// docs/models.md ends with these tables. With HEED_WRITE_DOCS in the environment the test writes
// them.
TEST(GoldenCheck, TheDocsHaveARowForEveryTypeAndArchitecture) {
  const fs::path page = fs::path(HEED_SOURCE_DIR) / "docs/models.md";
  const std::string begin = "<!-- from the registry -->\n";
  const std::string docs = read_file(page);
  const std::size_t at = docs.find(begin);
  ASSERT_NE(at, std::string::npos);
  const std::string expected = docs.substr(0, at) + begin + tables_of_types();
  if (std::getenv("HEED_WRITE_DOCS") != nullptr) write_file(page, expected);
  EXPECT_EQ(docs, expected);
}

// The committed model with one tensor more, and one that is wrong.
TEST(GoldenCheck, ReportsWhatIsWrongAndWhatItDoesNotKnow) {
  const test::Scratch scratch;
  for (const char* file : {"config.json", "model.safetensors"})
    fs::copy_file(kCommitted / file, scratch / file);
  const Safetensors golden = Safetensors::open(kCommitted / "golden.safetensors");
  std::vector<NamedView> tensors;
  for (const std::string& name : golden.names()) tensors.push_back({name, golden.tensor(name)});
  Tensor logits = Tensor::copy_of(golden.tensor("logits"));
  logits.data<float>()[3] += 0.5F;
  for (NamedView& tensor : tensors)
    if (tensor.name == "logits") tensor.view = logits;
  tensors.push_back({"something.new", logits});
  write_safetensors(scratch / "golden.safetensors", tensors);
  const GoldenReport report = check_golden(scratch.folder());
  EXPECT_FALSE(report.passed());
  for (const GoldenTensor& tensor : report.tensors) {
    if (tensor.name == "something.new")
      EXPECT_EQ(tensor.kind, GoldenTensor::Kind::kUnknown);
    else if (tensor.name == "logits")
      EXPECT_NEAR(tensor.worst, 0.5, 1e-3);
    else
      EXPECT_TRUE(tensor.passed()) << tensor.name;
  }
}

// A comparison with NaN allows no conclusion, and a comparison of nothing proves nothing.
TEST(GoldenCheck, ANumberThatIsNoneFailsWhereverItStands) {
  const test::Scratch scratch;
  for (const char* file : {"config.json", "model.safetensors"})
    fs::copy_file(kCommitted / file, scratch / file);
  const Safetensors golden = Safetensors::open(kCommitted / "golden.safetensors");
  const Tensor ids = Tensor::copy_of(golden.tensor("input_ids"));
  Tensor logits = Tensor::copy_of(golden.tensor("logits"));
  const auto write = [&](const std::vector<NamedView>& tensors) {
    write_safetensors(scratch / "golden.safetensors", tensors);
  };
  for (const std::int64_t at : {std::int64_t{0}, logits.element_count() / 2}) {
    const float kept = std::exchange(logits.data<float>()[at], NAN);
    write({{"input_ids", ids}, {"logits", logits}});
    EXPECT_FALSE(check_golden(scratch.folder()).passed()) << at;
    logits.data<float>()[at] = kept;
  }
  write({{"input_ids", ids}});
  EXPECT_HEED_ERROR(check_golden(scratch.folder()), ErrorCode::kCorrupt,
                    (scratch / "golden.safetensors").string() +
                        ": inputs alone, expected a tensor to compare with: logits, "
                        "hidden_states.0, ...");
}

TEST(GoldenCheck, AnIdThatTheModelDoesNotHaveIsNamedWithItsTensor) {
  const Safetensors golden = Safetensors::open(kCommitted / "golden.safetensors");
  for (const auto& [name, most] :
       {std::pair("input_ids", 60), std::pair("labels", 60), std::pair("attention_mask", 1)}) {
    const test::Scratch scratch;
    for (const char* file : {"config.json", "model.safetensors"})
      fs::copy_file(kCommitted / file, scratch / file);
    Tensor wrong = Tensor::copy_of(golden.tensor(name));
    wrong.data<std::int64_t>()[2] = 1000;
    std::vector<NamedView> tensors;
    for (const std::string& each : golden.names())
      tensors.push_back({each, each == name ? ConstView(wrong) : golden.tensor(each)});
    write_safetensors(scratch / "golden.safetensors", tensors);
    EXPECT_HEED_ERROR(check_golden(scratch.folder()), ErrorCode::kCorrupt,
                      (scratch / "golden.safetensors").string() + ": " + name +
                          "[0, 2] is 1000, expected 0 to " + std::to_string(most));
  }
}

TEST(GoldenCheck, AFolderWithoutNumbersIsNamed) {
  const test::Scratch scratch;
  EXPECT_HEED_ERROR(check_golden(scratch.folder()), ErrorCode::kNotFound,
                    scratch.folder().string() +
                        ": has no golden.safetensors, expected a model folder with published "
                        "numbers");
}

}  // namespace
}  // namespace heed
