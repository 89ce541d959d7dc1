// What heed writes into GGUF files so that llama.cpp computes the same: types of tensors, T5's
// head, special tokens, rotary factors. Then what the refusals name.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "heed/model.h"
#include "io/atomic_file.h"
#include "io/gguf.h"
#include "models/gguf_save.h"
#include "support/gguf_writer.h"
#include "support/random_tensor.h"
#include "support/scratch.h"

namespace heed::gguf_written {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kSizes = R"("vocab_size": 64, "max_position_embeddings": 64,
  "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2)";

LoadedModel model_of(std::string_view config) {
  LoadedModel model;
  model.model = make_model(fmt::format("{{{}}}", config), 3);
  return model;
}

LoadedModel small(std::string_view more) { return model_of(fmt::format("{}, {}", more, kSizes)); }

Gguf saved(const LoadedModel& model, std::string_view type = "F32") {
  static int count = 0;
  static const test::Scratch scratch;
  const fs::path path = scratch / fmt::format("{}.gguf", ++count);
  save_gguf(path, model, type);
  return Gguf::open(path);
}

std::string message_of(const LoadedModel& model) {
  try {
    saved(model);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Tensor logits_of(const Model& model) {
  heed::Run run;
  const Tensor ids = test::random_ids({2, 9}, 64, 1), source = test::random_ids({2, 7}, 64, 2);
  if (!model.info().reads_source()) return model.forward({.ids = ids}, run);
  return model.forward({.ids = ids, .source = source}, run);
}

// --- types ---

void expect_types(const LoadedModel& model, const std::vector<std::string>& in_f32,
                  const std::vector<std::string>& in_blocks) {
  for (const std::string type : {"F16", "BF16", "Q8_0", "Q4_0"}) {
    const Gguf file = saved(model, type);
    for (const auto& [names, expected] : {std::pair(in_f32, std::string("F32")), {in_blocks, type}})
      for (const std::string& name : names) {
        ASSERT_NE(file.find(name), nullptr) << name;
        EXPECT_EQ(file.find(name)->type->name, expected) << name << " of a file in " << type;
      }
  }
}

// llama.cpp ends the process for a bias that is not f32.
TEST(GgufTypes, BiasesAndRoutersOfExpertsAreF32) {
  expect_types(small(R"("model_type": "gpt_oss", "num_local_experts": 2, "num_experts_per_tok": 1,
               "head_dim": 16, "rope_scaling": {"rope_type": "default"})"),
               {"blk.0.ffn_gate_exps.bias", "blk.0.ffn_up_exps.bias", "blk.0.ffn_down_exps.bias",
                "blk.0.ffn_gate_inp.weight", "blk.0.attn_sinks.weight", "blk.0.attn_q.bias"},
               {"blk.0.ffn_gate_exps.weight", "blk.0.ffn_down_exps.weight", "token_embd.weight"});
  expect_types(small(R"("model_type": "qwen2_moe", "num_experts": 2, "num_experts_per_tok": 1,
               "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32)"),
               {"blk.0.ffn_gate_inp.weight", "blk.0.ffn_gate_inp_shexp.weight"},
               {"blk.0.ffn_gate_exps.weight", "blk.0.ffn_gate_shexp.weight"});
}

TEST(GgufTypes, PositionsAndKindsOfTextsAreF32) {
  expect_types(small(R"("model_type": "bert")"), {"token_types.weight", "position_embd.weight"},
               {"token_embd.weight", "blk.0.attn_q.weight"});
  expect_types(model_of(R"("model_type": "gpt2", "vocab_size": 64, "n_embd": 32, "n_head": 2,
                           "n_layer": 1, "n_positions": 16)"),
               {"position_embd.weight"}, {"token_embd.weight"});
}

// A block's scale is an f16: its numbers reach the largest code times 65504.
TEST(GgufTypes, ANumberIsTooLargeByTheTypeOfItsTensor) {
  const test::Scratch scratch;
  const LoadedModel model = small(R"("model_type": "llama", "tie_word_embeddings": true)");
  const auto too_large = [&](float number, const char* type) {
    for (Parameter* parameter : model.model->parameters())
      if (parameter->name.ends_with("layers.1.mlp.up_proj.weight") ||
          parameter->name.ends_with("layers.1.input_layernorm.weight"))
        parameter->value.data<float>()[5] = number;
    return save_gguf(scratch / "m.gguf", model, type).not_finite;
  };
  constexpr const char* kUp = "blk.1.ffn_up.weight (1)";
  EXPECT_THAT(too_large(1e6F, "Q8_0"), IsEmpty());
  EXPECT_THAT(too_large(8.3e6F, "Q8_0"), IsEmpty());
  EXPECT_THAT(too_large(-8.4e6F, "Q8_0"), ElementsAre(kUp));
  EXPECT_THAT(too_large(5e5F, "Q4_0"), IsEmpty());
  EXPECT_THAT(too_large(6e5F, "Q4_0"), ElementsAre(kUp));
  EXPECT_THAT(too_large(7e4F, "F16"), ElementsAre(kUp));
  EXPECT_THAT(too_large(1e30F, "BF16"), IsEmpty());
  EXPECT_EQ(too_large(std::numeric_limits<float>::quiet_NaN(), "F32").size(), 2U);
}

// --- T5 ---

constexpr std::string_view kT5 = R"("model_type": "t5", "vocab_size": 64, "d_model": 32, "d_kv": 8,
  "d_ff": 24, "num_layers": 2, "num_heads": 4)";

std::vector<float> head_of(const Gguf& file, std::string_view name) {
  const GgufTensor* const tensor = file.find(name);
  if (tensor == nullptr) return {};
  const auto* numbers = reinterpret_cast<const float*>(file.bytes(*tensor).data());
  return {numbers, numbers + tensor->shape.element_count()};
}

// llama.cpp does not scale the states before the head.
TEST(GgufT5, ATiedHeadIsWrittenWithItsFactor) {
  const LoadedModel model = model_of(kT5);
  const Gguf file = saved(model);
  std::vector<float> expected = head_of(file, "token_embd.weight");
  for (float& number : expected) number *= 1 / std::sqrt(32.0F);
  EXPECT_THAT(head_of(file, "output.weight"), testing::Pointwise(testing::FloatEq(), expected));
}

TEST(GgufT5, AWrittenModelHasTheSameLogits) {
  for (const std::string_view more :
       {"", R"(, "scale_decoder_outputs": false)", R"(, "tie_word_embeddings": false)",
        R"(, "tie_word_embeddings": false, "scale_decoder_outputs": true)"}) {
    const LoadedModel model = model_of(fmt::format("{}{}", kT5, more));
    const LoadedModel read = load_model(saved(model).path());
    const Tensor expected = logits_of(*model.model);
    EXPECT_LE(test::largest_difference(logits_of(*read.model), expected), 1e-5) << more;
    EXPECT_GT(test::largest_difference(expected, Tensor::zeros(expected.shape())), 0.01) << more;
  }
}

// llama.cpp's converter writes no head for tied words.
TEST(GgufT5, AFileWithoutAHeadHasTiedWordsThatAreScaled) {
  const LoadedModel model = model_of(kT5);
  const Gguf file = saved(model);
  test::GgufWriter writer;
  writer.key("general.architecture", "t5");
  for (const auto& [key, value] : {std::pair("context_length", 512U),
                                   {"embedding_length", 32U},
                                   {"feed_forward_length", 24U},
                                   {"block_count", 2U},
                                   {"attention.head_count", 4U},
                                   {"attention.key_length", 8U},
                                   {"attention.relative_buckets_count", 32U}})
    writer.key(fmt::format("t5.{}", key), value);
  writer.key("t5.attention.layer_norm_rms_epsilon", 1e-6F);
  for (const auto& [name, tensor] : file.tensors())
    if (name != "output.weight")
      writer.tensor(name, {tensor.shape.begin(), tensor.shape.end()}, head_of(file, name));
  const test::Scratch scratch;
  write_file(scratch / "t5.gguf", writer.file());
  EXPECT_EQ(test::largest_difference(logits_of(*load_model(scratch / "t5.gguf").model),
                                     logits_of(*model.model)),
            0);
}

// --- special tokens ---

TEST(GgufTokens, IdsThatTheModelDoesNotHaveAreNotWritten) {
  const Gguf file = saved(small(R"("model_type": "llama", "bos_token_id": 255000,
                                   "eos_token_id": [255001, 7], "pad_token_id": -1)"));
  EXPECT_TRUE(file["tokenizer.ggml.bos_token_id"].is_null());
  EXPECT_EQ(file["tokenizer.ggml.eos_token_id"], Json(7));
  EXPECT_TRUE(file["tokenizer.ggml.eot_token_id"].is_null());
  const LoadedModel read = load_model(file.path());
  EXPECT_EQ(read.model->info().first_token, -1);
  EXPECT_THAT(read.model->info().end_tokens, ElementsAre(7));
}

// llama.cpp refuses a file that does not say what its tokenizer is.
TEST(GgufTokens, AModelWithoutATokenizerSaysSo) {
  const Gguf file = saved(small(R"("model_type": "bert")"));
  EXPECT_EQ(file["tokenizer.ggml.model"], Json("no_vocab"));
  EXPECT_EQ(file["bert.vocab_size"], Json(64));
  EXPECT_EQ(load_model(file.path()).tokenizer, nullptr);
}

// --- rotary factors ---

std::string llama3(int trained, int high = 4) {
  return fmt::format(R"("model_type": "llama", "rope_theta": 10000.0, "rope_scaling": {{
      "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": {},
      "original_max_position_embeddings": {}}})",
                     high, trained);
}

TEST(GgufRope, Llama3IsWrittenWhateverTheLengthThatItWasTrainedOn) {
  for (const int trained : {32, 50, 64, 1000, 8192, 131072}) {
    const LoadedModel model = small(llama3(trained));
    EXPECT_LE(test::largest_difference(logits_of(*load_model(saved(model).path()).model),
                                       logits_of(*model.model)),
              1e-6)
        << trained;
  }
}

TEST(GgufRope, Llama3WithOtherEndsOfItsRampIsWritten) {
  const LoadedModel model = small(llama3(64, 8));
  EXPECT_LE(test::largest_difference(logits_of(*load_model(saved(model).path()).model),
                                     logits_of(*model.model)),
            1e-6);
}

// llama.cpp refuses a file with a tensor that it does not read.
TEST(GgufRope, Llama3IsRefusedWhereLlamaCppReadsNoFactors) {
  std::string config = llama3(64);
  config.replace(config.find("llama"), 5, "qwen2");
  EXPECT_EQ(
      message_of(small(config)),
      "gguf: rope_type is llama3, expected none, linear or yarn: llama.cpp's 'qwen2' reads no "
      "factors of frequencies");
}

TEST(GgufRope, APowerOfTwoIsReadAsLlama3) {
  const auto model = load_model(saved(small(llama3(64))).path());
  EXPECT_THAT(model.model->config_json(), testing::HasSubstr("\"rope_type\": \"llama3\""));
  EXPECT_THAT(model.model->config_json(),
              testing::HasSubstr("\"original_max_position_embeddings\": 64"));
}

// --- refusals ---

TEST(GgufRefusals, NameTheFileOfTheConfigurationAndNoLineOfIt) {
  const test::Scratch scratch;
  fs::create_directories(scratch / "opt");
  LoadedModel model = small(R"("model_type": "opt", "word_embed_proj_dim": 32)");
  save_model(scratch / "opt", model, DType::kF32);
  EXPECT_THAT(message_of(load_model(scratch / "opt")),
              testing::StartsWith((scratch / "opt/config.json").string() +
                                  ": model_type is 'opt', expected one that GGUF files are "
                                  "written of: llama, "));
}

TEST(GgufRefusals, NameEachTypeOnce) {
  const std::string text = message_of(small(R"("model_type": "opt", "word_embed_proj_dim": 32)"));
  EXPECT_THAT(text, testing::EndsWith(", bert, t5, mt5"));
}

TEST(GgufRefusals, OfAFileNameItAndTheKeyAlone) {
  const test::Scratch scratch;
  test::GgufWriter writer;
  writer.key("general.architecture", "bert").key("bert.embedding_length", 32U);
  writer.key("bert.feed_forward_length", 24U).key("bert.block_count", 1U);
  writer.key("bert.attention.head_count", 3U).key("bert.attention.layer_norm_epsilon", 1e-6F);
  for (const char* name : {"token_embd", "position_embd", "token_types"})
    writer.tensor(fmt::format("{}.weight", name), {2, 32}, std::vector<float>(64));
  write_file(scratch / "m.gguf", writer.file());
  try {
    load_model(scratch / "m.gguf");
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              (scratch / "m.gguf").string() +
                  ": hidden_size is 32, expected a multiple of num_attention_heads (3)");
  }
}

}  // namespace
}  // namespace heed::gguf_written
