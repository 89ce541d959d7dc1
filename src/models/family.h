// What a model family gives the registry: one line in families.cpp. Random weights for a fresh
// model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "heed/io/files.h"
#include "heed/models/model.h"
#include "heed/models/registry.h"
#include "heed/nn/run.h"
#include "models/config.h"
#include "models/stored_weights.h"

namespace heed {

/// What kind of model the members of a family are.
enum class FamilyKind : std::uint8_t { kDecoder, kEncoder, kTranslator };

struct DecoderShape;

struct Family {
  std::vector<std::string_view> model_types;  // as config.json names them
  /// What the configuration says of the model; throws where it is none that the family reads.
  ModelInfo (*describe)(const Config& config) = nullptr;
  /// With random weights.
  std::unique_ptr<Model> (*make)(const Config& config, std::uint64_t seed) = nullptr;
  /// With the weights of a file.
  std::unique_ptr<Model> (*load)(const Config& config, const Weights& weights,
                                 const Reading& reading) = nullptr;
  /// The members of a config.json for a training run; null: the family is not trained.
  Json (*training_config)(const TrainingShape& shape) = nullptr;
  FamilyKind kind = FamilyKind::kDecoder;
  /// The model as data; null where it is no `Decoder`.
  DecoderShape (*shape)(const Config& config) = nullptr;
};

/// What `model_type` may be, in the order of the families.
std::vector<std::string_view> known_model_types();

/// The family that the config asks for; an error names what it is and what is known.
const Family& family_of(const Config& config);

/// As `config.json` has token ids: null for none, one alone, else a list.
Json json_of_ids(const std::vector<std::int64_t>& ids);

Family gpt2_family();
Family llama_family();
Family encoder_family();
Family seq2seq_family();
Family gemma2_family();
Family gpt_neox_family();
Family gptj_family();
Family gpt_neo_family();
Family opt_family();
Family phi_family();
Family phi3_family();
Family gemma_family();
Family gemma3_family();
Family gemma3_with_pictures_family();
Family olmo_family();
Family olmo2_family();
Family cohere_family();
Family stablelm_family();
Family starcoder2_family();
Family smollm3_family();
Family glm_family();
Family granite_family();
Family nemotron_family();
Family helium_family();
Family bloom_family();
Family falcon_family();
Family mixtral_family();
Family qwen_moe_family();
Family olmoe_family();
Family gpt_oss_family();
Family t5_family();
Family lesson_family();

/// What is called bias is 0, other vectors are `norm`, and matrices are normal with
/// `deviation(name)`; each parameter is from a stream of its own name.
struct InitialParameters {
  std::uint64_t seed = 0;
  std::function<double(std::string_view name)> deviation;
  float norm = 1;
};
void initialise(std::span<Parameter* const> parameters, const InitialParameters& how);

}  // namespace heed
