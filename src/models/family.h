// The interface between a model family and the registry: one line in families.cpp. Also random
// weights for a new model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "heed/model.h"
#include "io/tensor_files.h"
#include "models/config.h"
#include "models/stored_weights.h"
#include "models/training_config.h"

namespace heed {

/// The kind of the family's models.
enum class FamilyKind : std::uint8_t { kDecoder, kEncoder, kTranslator };

struct DecoderShape;

struct Family {
  std::vector<std::string_view> model_types;  // as in config.json
  /// Reads the facts about the model from its configuration; throws if the family cannot read it.
  ModelInfo (*describe)(const Config& config) = nullptr;
  /// Makes a model with random weights.
  std::unique_ptr<Model> (*make)(const Config& config, std::uint64_t seed) = nullptr;
  /// Loads a model's weights from a file.
  std::unique_ptr<Model> (*load)(const Config& config, const Weights& weights,
                                 const Reading& reading) = nullptr;
  /// The members of config.json for a training run; empty: the family cannot be trained.
  std::function<Json(const TrainingShape& shape)> training_config = {};
  FamilyKind kind = FamilyKind::kDecoder;
  /// The model as data; null if it is not a `Decoder`.
  DecoderShape (*shape)(const Config& config) = nullptr;
};

/// The values of `model_type`, in the order of the families.
std::vector<std::string_view> known_model_types();

/// What heed lacks for this type of model, or for this architecture of GGUF, as an error expects
/// it; empty for those that heed knows nothing about.
std::string what_is_unserved(std::string_view type);

/// The config's family; the error names its model_type and the known ones.
const Family& family_of(const Config& config);

/// The configuration of a folder, of a GGUF file, or of an adapter's base, without the folder's
/// generation_config.json.
Config model_config(const std::filesystem::path& model);

/// Token ids as in `config.json`: null for none, a number for one, else a list.
Json json_of_ids(const std::vector<std::int64_t>& ids);

Family gpt2_family();
Family llama_family();
Family encoder_family();
Family seq2seq_family();
Family gemma2_family();
Family t5_family();
Family cohere_family();
Family lesson_family();
std::vector<Family> gpt_neox_families();
std::vector<Family> gpt_neo_families();
std::vector<Family> phi_families();
std::vector<Family> gemma_families();
std::vector<Family> gemma4_families();
std::vector<Family> olmo_families();
std::vector<Family> kin_of_llama_families();
std::vector<Family> falcon_families();
std::vector<Family> mixtral_families();
std::vector<Family> qwen3_5_families();

/// Parameters named bias are 0, other vectors are `norm`, and matrices are normal with
/// `deviation(name)`; each parameter has a random stream given by its name.
struct InitialParameters {
  std::uint64_t seed = 0;
  std::function<double(std::string_view name)> deviation;
  float norm = 1;
};
void initialise(std::span<Parameter* const> parameters, const InitialParameters& how);

}  // namespace heed
