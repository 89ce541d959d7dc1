// Configurations that no family reads: one line that names the key.
#include <gtest/gtest.h>

#include <string>

#include "heed/model.h"
#include "io/atomic_file.h"
#include "io/tensor_files.h"
#include "support/expect_error.h"
#include "support/scratch.h"

namespace heed {
namespace {

// A small model of each family with `members` in its config.
std::string llama(const std::string& members) {
  return R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, )"
         R"("hidden_size": 16, "intermediate_size": 8, "vocab_size": 11, )" +
         members + "}";
}

TEST(LlamaConfig, AnUnknownScalingOfPositionsIsNamed) {
  EXPECT_HEED_ERROR(
      make_model(llama(R"("rope_scaling": {"type": "longer", "factor": 2})"), 1),
      ErrorCode::kUnsupported,
      "config: line 1, column 161: rope_scaling.type is 'longer', expected one of: default, "
      "linear, dynamic, llama3, yarn, longrope");
  EXPECT_HEED_ERROR(
      make_model(
          llama(R"("rope_scaling": {"type": "longrope", "factor": 2, "short_factor": [1, 2, 3]})"),
          1),
      ErrorCode::kCorrupt,
      "config: line 1, column 202: rope_scaling.short_factor is a list of 3, expected a list of 2 "
      "numbers above 0");
  EXPECT_HEED_ERROR(make_model(llama(R"("rope_parameters": {"rope_type": 3})"), 1),
                    ErrorCode::kCorrupt,
                    "config: line 1, column 169: rope_parameters.rope_type is 3, expected a text");
  EXPECT_HEED_ERROR(make_model(llama(R"("rope_scaling": 7)"), 1), ErrorCode::kCorrupt,
                    "config: line 1, column 152: rope_scaling is 7, expected an object");
}

TEST(LlamaConfig, ValuesThatDoNotFitAreNamed) {
  EXPECT_HEED_ERROR(make_model(llama(R"("num_key_value_heads": 3)"), 1), ErrorCode::kCorrupt,
                    "config: line 1, column 159: num_key_value_heads is 3, expected a divisor of "
                    "num_attention_heads (4)");
  EXPECT_HEED_ERROR(make_model(R"({"model_type": "gpt2", "n_head": null})", 1), ErrorCode::kCorrupt,
                    "config: line 1, column 34: n_head is null, expected a number of heads");
  EXPECT_HEED_ERROR(make_model(llama(R"("head_dim": 3)"), 1), ErrorCode::kCorrupt,
                    "config: line 1, column 148: head_dim is 3, expected an even number");
  EXPECT_HEED_ERROR(make_model(llama(R"("rms_norm_eps": -1)"), 1), ErrorCode::kCorrupt,
                    "config: line 1, column 152: rms_norm_eps is -1, expected 0 or more");
  EXPECT_HEED_ERROR(
      make_model(llama(R"("hidden_act": "prelu")"), 1), ErrorCode::kUnsupported,
      "config: line 1, column 150: hidden_act is 'prelu', expected one of: gelu, "
      "gelu_new, gelu_pytorch_tanh, relu, relu2, silu, swish, quick_gelu, gelu_python, "
      "gelu_python_tanh, gelu_fast, gelu_accurate, gelu_10, hardswish, laplace, leaky_relu, "
      "linear, mish, relu6, sigmoid, tanh");
  EXPECT_HEED_ERROR(
      make_model(llama(R"("rope_scaling": {"rope_type": "linear", "factor": 0.5})"), 1),
      ErrorCode::kCorrupt,
      "config: line 1, column 186: rope_scaling.factor is 0.5, expected at least 1");
  EXPECT_HEED_ERROR(make_model(llama(R"("layer_types": ["full_attention"])"), 1),
                    ErrorCode::kCorrupt,
                    "config: line 1, column 151: layer_types is a list of 1, expected 2 entries, "
                    "one per layer");
  EXPECT_NO_THROW(  // like transformers
      make_model(llama(R"("layer_types": ["full_attention", "linear_attention"])"), 1));
  EXPECT_HEED_ERROR(
      make_model(R"({"model_type": "qwen3", "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 4, "layer_types": ["full_attention", "linear_attention"]})",
                 1),
      ErrorCode::kUnsupported,
      "config: line 2, column 50: layer_types is 'linear_attention' in layer 1, expected "
      "full_attention or sliding_attention");
  EXPECT_HEED_ERROR(make_model(llama(R"("eos_token_id": [1, "x"])"), 1), ErrorCode::kCorrupt,
                    "config: line 1, column 152: eos_token_id is [1,\"x\"], expected a token id, a "
                    "list of them or null");
}

TEST(BertConfig, WhatIsNotServedIsNamed) {
  EXPECT_HEED_ERROR(
      make_model(R"({"model_type": "bert", "position_embedding_type": "relative_key"})", 1),
      ErrorCode::kUnsupported,
      "config: line 1, column 51: position_embedding_type is 'relative_key', expected absolute");
  EXPECT_HEED_ERROR(make_model(R"({"model_type": "bert", "is_decoder": true})", 1),
                    ErrorCode::kUnsupported,
                    "config: line 1, column 38: is_decoder is true, expected false: this family "
                    "is an encoder alone");
  EXPECT_HEED_ERROR(
      make_model(R"({"model_type": "roberta", "max_position_embeddings": 2})", 1),
      ErrorCode::kCorrupt,
      "config: line 1, column 54: max_position_embeddings is 2, expected above 2, the first "
      "token's position");
}

TEST(EncoderConfig, WhatItsKinDoNotServeIsNamed) {
  EXPECT_HEED_ERROR(
      make_model(R"({"model_type": "mpnet", "relative_attention_num_buckets": 16})", 1),
      ErrorCode::kUnsupported,
      "config: line 1, column 59: relative_attention_num_buckets is 16, expected 32");
  EXPECT_HEED_ERROR(make_model(R"({"model_type": "modernbert", "local_attention": 1})", 1),
                    ErrorCode::kCorrupt,
                    "config: line 1, column 49: local_attention is 1, expected a whole number, 2 "
                    "to 1073741824");
  EXPECT_HEED_ERROR(make_model(R"({"model_type": "albert", "num_hidden_groups": 13})", 1),
                    ErrorCode::kCorrupt,
                    "config: line 1, column 47: num_hidden_groups is 13, expected a whole number, "
                    "1 to 12");
}

TEST(EncoderConfig, SettingsOfOlderNomicFilesAreReadOrNamed) {
  const auto nomic = [](const std::string& more) {
    return R"({"model_type": "nomic_bert", "n_embd": 16, "n_head": 2, "n_layer": 3, "n_inner": 8,
      "n_positions": 9, "vocab_size": 11, )" +
           more + "}";
  };
  const ModelInfo info = make_model(nomic(R"("rotary_emb_base": 100)"), 1)->info();
  EXPECT_EQ(info.layers, 3);
  EXPECT_EQ(info.heads, 2);
  EXPECT_EQ(info.width, 16);
  EXPECT_EQ(info.positions, 9);
  EXPECT_HEED_ERROR(make_model(nomic(R"("prenorm": true)"), 1), ErrorCode::kUnsupported,
                    "config: line 2, column 54: prenorm is true, expected false");
  EXPECT_HEED_ERROR(make_model(nomic(R"("rotary_scaling_factor": 2)"), 1), ErrorCode::kUnsupported,
                    "config: line 2, column 68: rotary_scaling_factor is 2, expected null");
}

TEST(DecoderConfig, AlibiNeedsACausalMask) {
  EXPECT_HEED_ERROR(make_model(R"({"model_type": "bloom", "is_causal": false})", 1),
                    ErrorCode::kUnsupported,
                    "config: line 1, column 38: is_causal is false, expected true: ALiBi is for "
                    "earlier tokens");
}

// A small model with `members` in its config.
std::string gemma4(const std::string& members) {
  return R"({"model_type": "gemma4_text", "num_hidden_layers": 3, "num_attention_heads": 4, )"
         R"("num_key_value_heads": 2, "hidden_size": 8, "intermediate_size": 8, "vocab_size": 11,)"
         "\n" +
         members + "}";
}

TEST(Gemma4Config, WhatIsNotServedIsNamed) {
  EXPECT_HEED_ERROR(make_model(gemma4(R"("enable_moe_block": true)"), 1), ErrorCode::kUnsupported,
                    "config: line 2, column 21: enable_moe_block is true, expected false: heed "
                    "does not compute experts beside an MLP");
  EXPECT_HEED_ERROR(
      make_model(gemma4(R"("use_bidirectional_attention": "all")"), 1), ErrorCode::kUnsupported,
      "config: line 2, column 32: use_bidirectional_attention is 'all', expected null or 'vision'");
  EXPECT_HEED_ERROR(make_model(gemma4(R"("per_layer_config": {"1": {"sliding_window": 4}})"), 1),
                    ErrorCode::kUnsupported,
                    "config: line 2, column 46: per_layer_config.1.sliding_window is given, "
                    "expected only head_dim and num_key_value_heads");
}

TEST(Gemma4Config, SizesNameTheirLayersWithOrWithoutZeros) {
  for (const char* numbers : {R"("05": {"head_dim": 8}, "11": {"head_dim": 8})",
                              R"("5": {"head_dim": 8}, "11": {"head_dim": 8})"}) {
    const auto model = make_model(
        R"({"model_type": "gemma4_text", "num_hidden_layers": 12, "num_attention_heads": 4,
            "num_key_value_heads": 2, "hidden_size": 8, "intermediate_size": 8, "vocab_size": 11,
            "head_dim": 4, "hidden_size_per_layer_input": 0, "per_layer_config": {)" +
            std::string(numbers) + "}}",
        1);
    EXPECT_EQ(model->info().stacks.at(0).keys_of(5).head_dim, 8) << numbers;
    EXPECT_EQ(model->info().stacks.at(0).keys_of(10).head_dim, 4) << numbers;
  }
}

TEST(Gemma4Config, ValuesThatDoNotFitAreNamed) {
  EXPECT_HEED_ERROR(
      make_model(gemma4(R"("num_kv_shared_layers": 3)"), 1), ErrorCode::kCorrupt,
      "config: line 2, column 25: num_kv_shared_layers is 3, expected a whole number, 0 to 2");
  EXPECT_HEED_ERROR(make_model(gemma4(R"("num_kv_shared_layers": 1)"), 1), ErrorCode::kCorrupt,
                    "config: line 2, column 25: num_kv_shared_layers is 1, expected a layer of "
                    "each type among the first layers, as layer 2 needs the keys of one");
  EXPECT_HEED_ERROR(
      make_model(gemma4(R"("attention_k_eq_v": true, "num_global_key_value_heads": 3)"), 1),
      ErrorCode::kCorrupt,
      "config: line 2, column 57: num_global_key_value_heads is 3 key heads in layer 2, expected a "
      "divisor of num_attention_heads (4)");
  EXPECT_HEED_ERROR(make_model(gemma4(R"("per_layer_config": {"3": {"head_dim": 8}})"), 1),
                    ErrorCode::kCorrupt,
                    "config: line 2, column 27: per_layer_config.3 is no layer's number, expected "
                    "the sizes of a layer from 0 to 2");
  EXPECT_HEED_ERROR(make_model(gemma4(R"("per_layer_config": {"1": {"head_dim": 8}})"), 1),
                    ErrorCode::kUnsupported,
                    "config: line 2, column 21: per_layer_config is other sizes in layer 1, "
                    "expected the same sizes in all layers of one type");
  EXPECT_HEED_ERROR(make_model(gemma4(R"("vocab_size_per_layer_input": 10)"), 1),
                    ErrorCode::kCorrupt,
                    "config: line 2, column 31: vocab_size_per_layer_input is 10, expected at "
                    "least vocab_size (11)");
  EXPECT_HEED_ERROR(
      make_model(gemma4(R"("rope_parameters": {"full_attention": {"rope_theta": 100}})"), 1),
      ErrorCode::kCorrupt,
      "config: rope_parameters.sliding_attention is missing, expected the positions of these "
      "layers");
  EXPECT_HEED_ERROR(
      make_model(gemma4(R"("layer_types": ["full_attention", "full_attention", "full_attention"],
          "rope_parameters": {"full_attention": {"rope_type": "proportional",
          "partial_rotary_factor": 1.5}})"),
                 1),
      ErrorCode::kCorrupt,
      "config: line 4, column 36: rope_parameters.full_attention.partial_rotary_factor is 1.5, "
      "expected 0 to 1");
  EXPECT_HEED_ERROR(make_model(gemma4(R"("global_head_dim": 7)"), 1), ErrorCode::kCorrupt,
                    "config: line 2, column 20: global_head_dim is 7, expected an even number");
  EXPECT_HEED_ERROR(make_model(R"({"model_type": "gemma4"})", 1), ErrorCode::kCorrupt,
                    "config: text_config is missing, expected the configuration of the text model");
}

TEST(DecoderConfig, TheOtherNameOfAKeyIsNamed) {
  EXPECT_HEED_ERROR(
      make_model(R"({"model_type": "gpt2", "n_head": 4, "num_attention_heads": 0})", 1),
      ErrorCode::kCorrupt,
      "config: line 1, column 60: num_attention_heads is 0, expected a whole number, 1 to "
      "1073741824");
}

TEST(Seq2seqConfig, PaddingThatPositionsBeginBehindIsNeeded) {
  EXPECT_HEED_ERROR(make_model(R"({"model_type": "m2m_100", "pad_token_id": null})", 1),
                    ErrorCode::kCorrupt,
                    "config: line 1, column 43: pad_token_id is none, expected a token id: "
                    "positions begin behind it");
}

TEST(Seq2seqConfig, ValuesThatDoNotFitAreNamed) {
  EXPECT_HEED_ERROR(
      make_model(R"({"model_type": "marian", "d_model": 10, "decoder_attention_heads": 5,
 "encoder_attention_heads": 4})",
                 1),
      ErrorCode::kCorrupt,
      "config: line 2, column 29: encoder_attention_heads is 4, expected a divisor of d_model "
      "(10)");
  EXPECT_HEED_ERROR(
      make_model(R"({"model_type": "marian", "vocab_size": 10, "decoder_vocab_size": 12})", 1),
      ErrorCode::kCorrupt,
      "config: line 1, column 66: decoder_vocab_size is 12, expected 10 (vocab_size, as both "
      "share their words)");
}

TEST(QuantisedFolder, IsRefusedByTheMethodsName) {
  for (const auto& [member, method] :
       {std::pair(R"("quantization_config": {"quant_method": "gptq", "bits": 4})", "gptq"),
        std::pair(R"("quantization_config": {"load_in_4bit": true})", "bitsandbytes")})
    EXPECT_HEED_ERROR(make_model(llama(member), 1), ErrorCode::kUnsupported,
                      std::string("config: line 1, column 159: quantization_config is ") + method +
                          ", expected none: the original model in f32, f16 or bf16, or a GGUF file "
                          "of it");
  EXPECT_HEED_ERROR(make_model(llama(R"("quantization": {"group_size": 64, "bits": 4})"), 1),
                    ErrorCode::kUnsupported,
                    "config: line 1, column 152: quantization is mlx, expected none: the original "
                    "model in f32, f16 or bf16, or a GGUF file of it");
  EXPECT_NO_THROW(make_model(llama(R"("quantization_config": null)"), 1));
}

TEST(NumbersOfOtherPrograms, AreRead) {
  const auto model = make_model(llama(R"("num_key_value_heads": 2.0, "bos_token_id": [3],
    "eos_token_id": [-1, 2.0])"),
                                1);
  EXPECT_EQ(model->info().kv_heads, 2);
  EXPECT_EQ(model->info().first_token, 3);
  EXPECT_EQ(model->info().end_tokens, std::vector<std::int64_t>{2});
  EXPECT_TRUE(make_model(llama(R"("eos_token_id": -1)"), 1)->info().end_tokens.empty());
  EXPECT_THROW(make_model(llama(R"("num_key_value_heads": 2.5)"), 1), Error);
}

TEST(IsCausal, FalseMakesAnEncoderOfADecoder) {
  for (const char* value : {"false", "null"}) {
    const auto model = make_model(llama(std::string(R"("is_causal": )") + value), 1);
    EXPECT_FALSE(model->info().causal);
    EXPECT_FALSE(model->info().stacks[0].causal);
    EXPECT_FALSE(model->info().writes());
  }
  EXPECT_TRUE(make_model(llama(R"("is_causal": true)"), 1)->info().writes());
}

TEST(GenerationConfig, ItsIdsCountBeforeTheModels) {
  const test::Scratch scratch;
  const auto model = make_model(llama(R"("eos_token_id": 2, "bos_token_id": 1)"), 1);
  save_model(scratch.folder(), *model, nullptr, DType::kF32);
  EXPECT_EQ(load_model(scratch.folder()).model->info().end_tokens, std::vector<std::int64_t>{2});
  write_file(scratch / "generation_config.json", R"({"eos_token_id": [4, 7]})");
  const LoadedModel loaded = load_model(scratch.folder());
  EXPECT_EQ(loaded.model->info().end_tokens, (std::vector<std::int64_t>{4, 7}));
  EXPECT_EQ(loaded.model->info().first_token, 1);
}

TEST(StoredWeights, ATensorThatTheModelDoesNotHaveIsNamed) {
  const test::Scratch scratch;
  const auto model = make_model(llama(R"("tie_word_embeddings": true)"), 1);
  save_model(scratch.folder(), *model, nullptr, DType::kF32);
  std::vector<NamedView> tensors;
  for (const Parameter* parameter : std::as_const(*model).parameters())
    tensors.push_back({parameter->name, parameter->value});
  const Tensor extra = Tensor::zeros({16});
  tensors.push_back({"model.layers.1.self_attn.q_proj.bias", extra});
  write_safetensors(scratch / "model.safetensors", tensors);
  EXPECT_HEED_ERROR(load_model(scratch.folder()), ErrorCode::kUnsupported,
                    (scratch / "model.safetensors").string() +
                        ": model.layers.1.self_attn.q_proj.bias is a tensor that the model does "
                        "not have, expected its parameters alone");
}

TEST(StoredWeights, ACopyOfATiedHeadIsRead) {
  const test::Scratch scratch;
  const auto model = make_model(llama(R"("tie_word_embeddings": true)"), 1);
  save_model(scratch.folder(), *model, nullptr, DType::kF32);
  std::vector<NamedView> tensors;
  for (const Parameter* parameter : std::as_const(*model).parameters())
    tensors.push_back({parameter->name, parameter->value});
  tensors.push_back({"lm_head.weight", tensors.front().view});
  tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", tensors.back().view});
  write_safetensors(scratch / "model.safetensors", tensors);
  EXPECT_EQ(load_model(scratch.folder()).model->info().title, "Llama");
}

TEST(Passes, WhatAModelDoesNotTakeIsNamed) {
  const Tensor ids = Tensor::zeros({1, 3}, DType::kI32);
  const auto decoder = make_model(llama(R"("max_position_embeddings": 4)"), 1);
  heed::Run run;
  EXPECT_HEED_ERROR(decoder->forward({.ids = ids, .source = ids}, run), ErrorCode::kInvalidArgument,
                    "llama: source is given, expected none: the model reads no source");
  const Tensor too_long = Tensor::zeros({1, 5}, DType::kI32);
  EXPECT_HEED_ERROR(decoder->forward({.ids = too_long}, run), ErrorCode::kInvalidArgument,
                    "llama: ids is 5 tokens long, expected at most 4 (the model's positions)");
  const Tensor types = Tensor::zeros({1, 2}, DType::kI32);
  EXPECT_HEED_ERROR(decoder->forward({.ids = ids, .types = types}, run),
                    ErrorCode::kInvalidArgument,
                    "llama: types is i32 [1, 2], expected i32 [1, 3] (ids'), row-major");
  const auto translator =
      make_model(R"({"model_type": "marian", "d_model": 8, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 4,
    "decoder_ffn_dim": 4, "vocab_size": 11, "max_position_embeddings": 4})",
                 1);
  EXPECT_HEED_ERROR(translator->forward({.ids = ids}, run), ErrorCode::kInvalidArgument,
                    "seq2seq: source is not given, expected what the encoder reads");
  EXPECT_HEED_ERROR(translator->forward({.ids = ids, .source = ids, .source_lengths = {4}}, run),
                    ErrorCode::kInvalidArgument,
                    "seq2seq: source_lengths is 4, expected 0 to 3, the tokens given");
}

}  // namespace
}  // namespace heed
