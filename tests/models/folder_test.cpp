// Model folders as users have them: names of tensors, files that are not what they seem, models
// without a vocabulary.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "heed/model.h"
#include "io/atomic_file.h"
#include "io/tensor_files.h"
#include "nn/parameter.h"
#include "support/compare.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"
#include "support/scratch.h"
#include "text/word_level.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

std::string one_layer_llama(const std::string& more = "") {
  return R"({"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2,
    "hidden_size": 8, "intermediate_size": 8, "vocab_size": 11)" +
         more + "}";
}

using Rename = std::function<std::string(const std::string&)>;  // empty: left out

// The model, its tensors called otherwise, and `extra` ones of 4 numbers.
void save_as(const test::Scratch& scratch, const Model& model, const Rename& rename,
             const std::vector<std::string>& extra = {}) {
  save_model(scratch.folder(), model, nullptr, DType::kF32);
  std::vector<NamedView> tensors;
  for (const Parameter* parameter : model.parameters())
    if (const std::string name = rename(parameter->name); !name.empty())
      tensors.push_back({name, parameter->value});
  const Tensor numbers = Tensor::zeros({4});
  for (const std::string& name : extra) tensors.push_back({name, numbers});
  write_safetensors(scratch / "model.safetensors", tensors);
}

std::string same(const std::string& name) { return name; }

Tensor answer_of(const Model& model) {
  heed::Run run;
  const Tensor ids = test::random_ids({2, 5}, 11, 1);
  return model.forward({.ids = ids}, run);
}

TEST(Folder, NamesOfDistributedDataParallelAreRead) {
  for (const char* prefix : {"", "model."}) {
    const test::Scratch scratch;
    const auto model = make_model(one_layer_llama(), 1);
    save_as(scratch, *model, [&](const std::string& name) {
      return "module." +
             (name.starts_with(prefix) ? name.substr(std::string(prefix).size()) : name);
    });
    EXPECT_TRUE(test::same_bits(answer_of(*load_model(scratch.folder()).model), answer_of(*model)));
  }
}

TEST(Folder, ADecoderWithoutWordsOpensAndGivesItsLastStates) {
  const test::Scratch scratch;
  const auto model = make_model(one_layer_llama(R"(, "architectures": ["LlamaModel"])"), 1);
  save_as(scratch, *model, [](const std::string& name) {
    return name == "lm_head.weight" ? "" : name.substr(std::string("model.").size());
  });
  const LoadedModel loaded = load_model(scratch.folder());
  EXPECT_FALSE(loaded.model->info().has_logits);
  EXPECT_FALSE(loaded.model->info().writes());
  EXPECT_EQ(answer_of(*loaded.model).shape(), (Shape{2, 5, 8}));
}

TEST(Folder, AHeadForAnotherTaskIsLeftUnread) {
  const test::Scratch scratch;
  const auto model =
      make_model(one_layer_llama(R"(, "architectures": ["LlamaForSequenceClassification"])"), 1);
  save_model(scratch.folder(), *model, nullptr, DType::kF32);
  const LoadedModel loaded = load_model(scratch.folder());
  EXPECT_FALSE(loaded.model->info().has_logits);
  EXPECT_EQ(loaded.unread, std::vector<std::string>{"score.weight"});
}

TEST(Folder, WordsThatAreMissingAreAnErrorWhereTheModelWritesWithThem) {
  const test::Scratch scratch;
  const auto model = make_model(one_layer_llama(R"(, "architectures": ["LlamaForCausalLM"])"), 1);
  save_as(scratch, *model,
          [](const std::string& name) { return name == "lm_head.weight" ? "" : name; });
  try {
    load_model(scratch.folder());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.found(), "has no tensor 'lm_head.weight'");
  }
}

TEST(Folder, WhatIsWrongInTheHeadersIsToldWithoutLoading) {
  const test::Scratch scratch;
  save_as(scratch, *make_model(one_layer_llama(), 1), same, {"foo.bar"});
  EXPECT_EQ(
      why_not_loaded(scratch.folder()),
      (scratch / "model.safetensors").string() +
          ": foo.bar is a tensor that the model does not have, expected its parameters alone");
  save_as(scratch, *make_model(one_layer_llama(), 1), same);
  write_file(scratch / "config.json", one_layer_llama(R"(, "mlp_bias": true)"));
  EXPECT_NE(why_not_loaded(scratch.folder()).find("has no tensor"), std::string::npos);
  write_file(scratch / "config.json", one_layer_llama());
  write_file(scratch / "tokenizer.json", train_characters("abcdefghijklm")->to_json());
  EXPECT_EQ(why_not_loaded(scratch.folder()),
            "its tokenizer has 13 tokens and the model's vocabulary 11: texts with a token from 11 "
            "on cannot be read");
  write_file(scratch / "tokenizer.json", train_characters("abcdefghijk")->to_json());
  EXPECT_EQ(why_not_loaded(scratch.folder()), "");
}

// A file that holds a head of its own, whose configuration says that the words are the head.
TEST(Folder, AHeadThatIsNoCopyOfTheWordsCountsOrIsRefused) {
  const std::string gpt2 = R"({"model_type": "gpt2", "n_layer": 1, "n_head": 1, "n_embd": 8,
    "n_positions": 6, "vocab_size": 11, "tie_word_embeddings": )";
  const std::string tied = R"(, "tie_word_embeddings": true)";
  for (const auto& [untied, says_tied] : {std::pair(one_layer_llama(), one_layer_llama(tied)),
                                          std::pair(gpt2 + "false}", gpt2 + "true}")}) {
    const test::Scratch scratch;
    const auto model = make_model(untied, 1);
    save_as(scratch, *model, same);
    write_file(scratch / "config.json", says_tied);
    const LoadedModel loaded = load_model(scratch.folder());
    EXPECT_TRUE(test::same_bits(answer_of(*loaded.model), answer_of(*model)));
    EXPECT_TRUE(loaded.unread.empty());
    save_model(scratch / "again", *loaded.model, nullptr, DType::kF32);
    EXPECT_TRUE(
        test::same_bits(answer_of(*load_model(scratch / "again").model), answer_of(*model)));
  }
}

TEST(Folder, PaddingOfTheGenerationConfigDoesNotMovePositions) {
  const test::Scratch scratch;
  const auto model = make_model(R"({"model_type": "roberta", "num_hidden_layers": 1,
    "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 8, "vocab_size": 11,
    "max_position_embeddings": 12, "pad_token_id": 1})",
                                1);
  save_model(scratch.folder(), *model, nullptr, DType::kF32);
  write_file(scratch / "generation_config.json", R"({"pad_token_id": 4})");
  EXPECT_TRUE(test::same_bits(answer_of(*load_model(scratch.folder()).model), answer_of(*model)));
}

TEST(Folder, ACopyOfTheWordsIsLeftUnreadAndAnotherTableOfATranslatorIsRefused) {
  const std::string marian = R"({"model_type": "marian", "encoder_layers": 1, "decoder_layers": 1,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 8,
    "decoder_ffn_dim": 8, "d_model": 8, "vocab_size": 11, "max_position_embeddings": 8,
    "decoder_start_token_id": 1})";
  const test::Scratch scratch;
  const auto model = make_model(marian, 1);
  const auto save = [&](const Tensor& head) {
    save_model(scratch.folder(), *model, nullptr, DType::kF32);
    std::vector<NamedView> tensors;
    for (const Parameter* parameter : std::as_const(*model).parameters())
      tensors.push_back({parameter->name, parameter->value});
    tensors.push_back({"lm_head.weight", head});
    write_safetensors(scratch / "model.safetensors", tensors);
  };
  const std::vector<const Parameter*> parameters = std::as_const(*model).parameters();
  const Parameter* const words =
      *std::ranges::find(parameters, "model.shared.weight", &Parameter::name);
  save(words->value.clone());
  EXPECT_EQ(load_model(scratch.folder()).unread, std::vector<std::string>{"lm_head.weight"});
  save(Tensor::zeros({11, 8}));
  EXPECT_HEED_ERROR(load_model(scratch.folder()), ErrorCode::kUnsupported,
                    (scratch / "model.safetensors").string() +
                        ": lm_head.weight is other numbers than model.shared.weight, expected the "
                        "same: config.json ties them (tie_word_embeddings)");
}

TEST(Folder, AnIdOfTheModelThatNoTokenHasHasNoText) {
  const test::Scratch scratch;
  save_model(scratch.folder(), *make_model(one_layer_llama(), 1), train_characters("abc").get(),
             DType::kF32);
  const LoadedModel loaded = load_model(scratch.folder());
  const Tokenizer& tokenizer = *loaded.tokenizer;
  EXPECT_EQ(tokenizer.vocabulary_size(), 3);
  EXPECT_EQ(tokenizer.padded_size(), 11);
  EXPECT_TRUE(tokenizer.has(2));
  EXPECT_FALSE(tokenizer.has(3));
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{0, 10, 2}, false), "ac");
  EXPECT_EQ(tokenizer.token_bytes(3), "");
  EXPECT_EQ(tokenizer.piece(10), "");
  EXPECT_FALSE(tokenizer.is_special(10));
  EXPECT_THROW(tokenizer.token_bytes(11), Error);
  EXPECT_THROW(tokenizer.decode(std::vector<TokenId>{-1}, false), Error);
}

TEST(Folder, ATokenizerThatCannotBeReadMayBeLeftOut) {
  const test::Scratch scratch;
  save_model(scratch.folder(), *make_model(one_layer_llama(), 1), nullptr, DType::kF32);
  write_file(scratch / "tokenizer.json", "{}");
  EXPECT_THROW(load_model(scratch.folder()), Error);
  const LoadedModel loaded = load_model(scratch.folder(), {.needs_tokenizers = false});
  EXPECT_EQ(loaded.tokenizer, nullptr);
  EXPECT_NE(loaded.tokenizer_error.find("tokenizer.json"), std::string::npos);
}

struct TiedFamily {
  const char* name;
  std::string config;
  std::string kept, words;  // the one table as the file calls it, and as the model does
};

std::vector<TiedFamily> tied_families() {
  const std::string bert = R"(, "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8,
    "intermediate_size": 8, "vocab_size": 11, "max_position_embeddings": 9})";
  const std::string pair = R"(, "encoder_layers": 1, "decoder_layers": 1,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 8,
    "decoder_ffn_dim": 8, "d_model": 8, "vocab_size": 11, "max_position_embeddings": 8,
    "decoder_start_token_id": 1})";
  const std::string t5 = R"(, "num_layers": 1, "num_heads": 2, "d_model": 8, "d_kv": 4, "d_ff": 8,
    "vocab_size": 11, "dropout_rate": 0, "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 6})";
  const auto of = [](const char* type) { return std::string(R"({"model_type": ")") + type + "\""; };
  return {{"gpt2", of("gpt2") + R"(, "n_layer": 1, "n_head": 1, "n_embd": 8, "n_positions": 6,
             "vocab_size": 11})",
           "lm_head.weight", "transformer.wte.weight"},
          {"llama", one_layer_llama(R"(, "tie_word_embeddings": true)"), "lm_head.weight",
           "model.embed_tokens.weight"},
          {"gemma2", of("gemma2") + R"(, "num_hidden_layers": 1, "num_attention_heads": 2,
             "num_key_value_heads": 1, "hidden_size": 8, "head_dim": 4, "intermediate_size": 8,
             "vocab_size": 11})",
           "lm_head.weight", "model.embed_tokens.weight"},
          {"bert", of("bert") + bert, "cls.predictions.decoder.weight",
           "bert.embeddings.word_embeddings.weight"},
          {"roberta", of("roberta") + bert, "lm_head.decoder.weight",
           "roberta.embeddings.word_embeddings.weight"},
          {"distilbert", of("distilbert") + R"(, "n_layers": 1, "n_heads": 2, "dim": 8,
             "hidden_dim": 8, "vocab_size": 11, "max_position_embeddings": 9})",
           "vocab_projector.weight", "distilbert.embeddings.word_embeddings.weight"},
          {"electra", of("electra") + bert, "generator_lm_head.weight",
           "electra.embeddings.word_embeddings.weight"},
          {"albert", of("albert") + bert, "predictions.decoder.weight",
           "albert.embeddings.word_embeddings.weight"},
          {"modernbert", of("modernbert") + bert, "decoder.weight",
           "model.embeddings.tok_embeddings.weight"},
          {"bart", of("bart") + pair, "lm_head.weight", "model.shared.weight"},
          {"marian", of("marian") + pair, "lm_head.weight", "model.shared.weight"},
          {"blenderbot", of("blenderbot") + pair, "lm_head.weight", "model.shared.weight"},
          {"t5", of("t5") + t5, "decoder.embed_tokens.weight", "shared.weight"},
          {"t5 head", of("t5") + t5, "lm_head.weight", "shared.weight"}};
}

Tensor answer_to_any(const Model& model) {
  const Tensor source = test::random_ids({2, 4}, 11, 2);
  const Tensor ids = test::random_ids({2, 5}, 11, 1);
  heed::Run run;
  Batch batch = {.ids = ids};
  if (model.info().reads_source()) batch.source = source;
  return model.forward(batch, run);
}

// As `safetensors.torch.save_model` writes them, and as others do that keep one of equal tensors.
TEST(Folder, ATiedTableThatIsSavedOnceIsReadByTheNameItHas) {
  for (const TiedFamily& family : tied_families()) {
    SCOPED_TRACE(family.name);
    const auto model = make_model(family.config, 1);
    for (const bool says_so : {true, false}) {
      const test::Scratch scratch;
      save_model(scratch.folder(), *model, nullptr, DType::kF32);
      std::vector<NamedView> tensors;
      for (const Parameter* parameter : std::as_const(*model).parameters())
        tensors.push_back(
            {parameter->name == family.words ? family.kept : parameter->name, parameter->value});
      std::map<std::string, std::string> aliases;
      if (says_so) aliases = {{family.words, family.kept}};
      write_safetensors(scratch / "model.safetensors", tensors, aliases);
      const LoadedModel loaded = load_model(scratch.folder());
      EXPECT_TRUE(test::same_bits(answer_to_any(*loaded.model), answer_to_any(*model)));
      EXPECT_TRUE(loaded.unread.empty());
      EXPECT_TRUE(test::same_bits(
          answer_to_any(
              *load_model(scratch.folder(), {.packed = true, .dtype = DType::kF32}).model),
          [&] {
            const LoadedModel again = load_model(scratch.folder());
            pack(again.model->parameters(), DType::kF32);
            return answer_to_any(*again.model);
          }()));
    }
  }
}

TEST(Folder, HeadsForOtherTasksAndDerivedBuffersAreLeftUnread) {
  const std::string gpt2 = R"({"model_type": "gpt2", "n_layer": 1, "n_head": 1, "n_embd": 8,
    "n_positions": 6, "vocab_size": 11})";
  for (const std::string& config : {one_layer_llama(), gpt2}) {
    const test::Scratch scratch;
    const auto model = make_model(config, 1);
    const std::vector<std::string> beside = {"multiple_choice_head.summary.weight",
                                             "qa_outputs.bias",
                                             "rotary_emb.inv_freq",
                                             "rotary_emb.original_inv_freq",
                                             "score.weight",
                                             "v_head.summary.bias",
                                             "v_head.summary.weight",
                                             "value_head.weight"};
    save_as(scratch, *model, same, beside);
    const LoadedModel loaded = load_model(scratch.folder());
    EXPECT_TRUE(test::same_bits(answer_of(*loaded.model), answer_of(*model)));
    EXPECT_EQ(loaded.unread, beside);
    EXPECT_EQ(why_not_loaded(scratch.folder()),
              "it has no tokenizer, so only token ids can be read");
  }
}

TEST(Folder, AnIndexMayNameTensorsThatNoShardHolds) {
  const test::Scratch scratch;
  const auto model = make_model(one_layer_llama(), 1);
  save_as(scratch, *model, same);
  fs::rename(scratch / "model.safetensors", scratch / "model-00001-of-00001.safetensors");
  std::string map;
  for (const Parameter* parameter : std::as_const(*model).parameters())
    map += fmt::format(R"("{}": "model-00001-of-00001.safetensors", )", parameter->name);
  const std::string lost = "model.layers.0.self_attn.rotary_emb.inv_freq";
  write_file(scratch / "model.safetensors.index.json",
             fmt::format(R"({{"weight_map": {{{}"{}": "model-00001-of-00001.safetensors"}}}})", map,
                         lost));
  EXPECT_TRUE(test::same_bits(answer_of(*load_model(scratch.folder()).model), answer_of(*model)));
}

TEST(Folder, AT5WithAnotherHeadOpensAsWhatItIs) {
  const std::string t5 = R"({"model_type": "t5", "num_layers": 1, "num_heads": 2, "d_model": 8,
    "d_kv": 4, "d_ff": 8, "vocab_size": 11, "dropout_rate": 0, "architectures": [")";
  const test::Scratch scratch;
  const auto model = make_model(t5 + R"(T5ForSequenceClassification"]})", 1);
  EXPECT_FALSE(model->info().has_logits);
  EXPECT_FALSE(model->info().reads_source());  // its text is the source
  save_as(scratch, *model, [](const std::string& name) {
    return (name.starts_with("classification_head.") ? "" : "transformer.") + name;
  });
  const LoadedModel loaded = load_model(scratch.folder());
  EXPECT_TRUE(loaded.model->info().reads_source());
  EXPECT_FALSE(loaded.model->info().writes());
  EXPECT_EQ(loaded.unread.size(), 4U);
  EXPECT_EQ(answer_to_any(*loaded.model).shape(), (Shape{2, 5, 8}));
  const auto encoder = make_model(t5 + R"(T5EncoderModel"]})", 1);
  EXPECT_FALSE(encoder->info().reads_source());
  EXPECT_EQ(encoder->info().stacks.size(), 1U);
  EXPECT_EQ(answer_of(*encoder).shape(), (Shape{2, 5, 8}));
}

// relu(-1) is 0 and gelu(-1) is not.
TEST(Folder, TheHeadOfRobertaIsGeluWhateverItsLayersHave) {
  const auto logits_of = [](const char* type) {
    const auto model = make_model(fmt::format(R"({{"model_type": "{}", "num_hidden_layers": 1,
      "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 8, "vocab_size": 11,
      "max_position_embeddings": 9, "pad_token_id": 1, "hidden_act": "relu"}})",
                                              type),
                                  1);
    for (Parameter* parameter : model->parameters()) {
      const bool transform = parameter->name.find("transform.dense") != std::string::npos ||
                             parameter->name.find("lm_head.dense") != std::string::npos;
      if (!transform) continue;
      const bool is_bias = parameter->name.ends_with("bias");
      for (std::int64_t i = 0; i < parameter->value.element_count(); ++i)
        parameter->value.data<float>()[i] = is_bias ? -1.0F - static_cast<float>(i % 2) : 0;
    }
    return answer_of(*model);
  };
  const Tensor none = Tensor::zeros({2, 5, 11});
  EXPECT_EQ(test::largest_difference(logits_of("bert"), none), 0);
  EXPECT_GT(test::largest_difference(logits_of("roberta"), none), 0.01);
}

TEST(Folder, AFileThatIsAFolderAndALinkToNothingAreNamed) {
  const test::Scratch scratch;
  save_as(scratch, *make_model(one_layer_llama(), 1), same);
  const fs::path file = scratch / "model.safetensors";
  fs::remove(file);
  fs::create_symlink("../blobs/gone", file);
  EXPECT_HEED_ERROR(load_model(scratch.folder()), ErrorCode::kNotFound,
                    file.string() + ": a link to ../blobs/gone, which does not exist");
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_HEED_ERROR(load_model(scratch.folder()), ErrorCode::kCorrupt,
                    file.string() + ": a folder, expected a file");
}

TEST(Folder, OfAnOwnerIsFoundByBothNames) {
  const test::Scratch scratch;
  save_model(scratch / "owner/name", *make_model(one_layer_llama(), 1), nullptr, DType::kF32);
  ::setenv("HEED_MODELS", scratch.folder().c_str(), 1);
  const std::vector<FoundModel> found = list_models();
  EXPECT_EQ(find_model("owner/name"), scratch / "owner/name");
  ::unsetenv("HEED_MODELS");
  EXPECT_EQ(found.front().name, "owner/name");
}

TEST(Folder, APointerOfGitLfsSaysHowTheFileIsFetched) {
  const test::Scratch scratch;
  save_as(scratch, *make_model(one_layer_llama(), 1), same);
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
  const auto refused = [&](const char* name) {
    EXPECT_HEED_ERROR(load_model(scratch.folder()), ErrorCode::kUnsupported,
                      (scratch / name).string() +
                          ": a pointer of Git LFS, not the file itself; fetch it: git -C " +
                          scratch.folder().string() + " lfs pull");
  };
  write_file(scratch / "tokenizer.json", pointer);
  refused("tokenizer.json");
  write_file(scratch / "model.safetensors", pointer);
  refused("model.safetensors");
}

TEST(Folder, AdaptersAndGgufAreNamedAsWhatTheyAre) {
  const test::Scratch scratch;
  write_file(scratch / "model.gguf", "GGUF");
  EXPECT_HEED_ERROR(load_model(scratch.folder()), ErrorCode::kInvalidArgument,
                    scratch.folder().string() +
                        ": holds 1 GGUF file, expected the path of one of them, as " +
                        (scratch / "model.gguf").string());
  write_file(scratch / "adapter_config.json", "{}");
  EXPECT_HEED_ERROR(load_model(scratch.folder()), ErrorCode::kUnsupported,
                    (scratch / "adapter_config.json").string() +
                        ": peft_type is not given, expected LORA, the one kind of adapter that "
                        "heed applies");
}

}  // namespace
}  // namespace heed
