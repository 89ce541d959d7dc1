// Model folders with a few bytes changed: they load, or an Error names the file, and nothing else
// happens.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "base/file.h"
#include "heed/error.h"
#include "heed/model.h"
#include "support/scratch.h"
#include "text/byte_bpe.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFamilies[] = {
    R"({"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8, "n_positions": 6,
      "vocab_size": 259})",
    R"({"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8,
      "num_key_value_heads": 1, "intermediate_size": 6, "max_position_embeddings": 6,
      "vocab_size": 259, "rope_scaling": {"rope_type": "linear", "factor": 2.0}})",
    R"({"model_type": "bert", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8,
      "intermediate_size": 6, "max_position_embeddings": 6, "vocab_size": 259})",
    R"({"model_type": "marian", "encoder_layers": 1, "decoder_layers": 1, "d_model": 8,
      "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 6,
      "decoder_ffn_dim": 6, "max_position_embeddings": 6, "vocab_size": 259,
      "decoder_start_token_id": 258})",
    R"({"model_type": "t5", "num_layers": 1, "num_heads": 2, "d_model": 8, "d_kv": 4, "d_ff": 6,
      "vocab_size": 259})",
    R"({"model_type": "gemma2", "num_hidden_layers": 1, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size": 8, "head_dim": 4, "intermediate_size": 6,
      "max_position_embeddings": 6, "vocab_size": 259})"};

constexpr const char* kFiles[] = {"config.json", "tokenizer.json", "model.safetensors"};

// Replacements for a value, a key or anything between them.
const std::string kValues[] = {"1e400",
                               "-1e400",
                               "-1",
                               "0",
                               "3.5",
                               "1e2",
                               "1000000000",
                               "18446744073709551616",
                               "null",
                               "true",
                               "\"x\"",
                               "[]",
                               "{}",
                               "[[1]]",
                               "\"\xff\"",
                               "\"\\ud800\"",
                               "\"\n\"",
                               std::string(5000, '['),
                               R"({"a":1,"a":2})",
                               "\"a\":1,",
                               ",",
                               "}",
                               "\xef\xbb\xbf",
                               "nan"};

class Mutations {
 public:
  explicit Mutations(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return random_() % limit; }

  /// Changes the part of `text` before `end`.
  void change(std::string& text, std::size_t end) {
    const std::size_t at = below(end);
    switch (below(5)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, 1 + below(8));
        break;
      case 2:
        text.resize(at);
        break;
      default:
        replace_value(text, at);
    }
  }

 private:
  // The next run of letters and digits, which is mostly a number, a word or a part of a key.
  void replace_value(std::string& text, std::size_t at) {
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    while (at < text.size() && !is_word(text[at])) ++at;
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    text.replace(at, end - at, kValues[below(std::size(kValues))]);
  }

  std::mt19937 random_;
};

// The header's own length stays true, so that what is in it is read.
void change_weights(Mutations& mutations, std::string& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  if (mutations.below(8) == 0) return mutations.change(file, sizeof length);
  std::string header = file.substr(sizeof length, length);
  if (header.empty()) return;
  mutations.change(header, header.size());
  const std::uint64_t changed = header.size();
  file.replace(sizeof length, length, header);
  std::memcpy(file.data(), &changed, sizeof changed);
}

void put(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

struct Outcomes {
  int loaded = 0;
  int refused = 0;
};

void load(const fs::path& folder, const std::string& name, Outcomes& counts) {
  try {
    load_model(folder);
    ++counts.loaded;
  } catch (const Error& error) {
    ++counts.refused;
    EXPECT_NE(error.code(), ErrorCode::kIo) << error.what();
    EXPECT_NE(error.code(), ErrorCode::kFailed) << error.what();
    EXPECT_TRUE(error.file().starts_with(folder.string())) << name << ": " << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find("json.exception"), std::string::npos) << error.what();
    EXPECT_LT(std::strlen(error.what()), 1000U) << error.what();
  } catch (const std::exception& other) {
    ADD_FAILURE() << name << ": not an Error: " << other.what();
  }
}

// The content of the file, changed in one or two places.
std::string changed(const std::string& name, std::string file, Mutations& mutations) {
  const std::size_t edits = 1 + mutations.below(2);
  for (std::size_t edit = 0; edit < edits && file.size() > 8; ++edit) {
    if (name == "model.safetensors")
      change_weights(mutations, file);
    else
      mutations.change(file, file.size());
  }
  return file;
}

class MutatedFolder : public testing::TestWithParam<std::string_view> {};

// HEED_MUTATED_FOLDERS=2500 tries more.
TEST_P(MutatedFolder, LoadsOrIsAnErrorThatNamesTheFile) {
  const char* wanted = std::getenv("HEED_MUTATED_FOLDERS");
  const int rounds = wanted == nullptr ? 200 : std::atoi(wanted);
  const test::Scratch scratch;
  const auto tokenizer = train_byte_bpe("low low lower", {.vocabulary_size = 259});
  save_model(scratch.folder(), *make_model(GetParam(), 1), tokenizer.get(), DType::kF32);
  Outcomes counts;
  for (int round = 0; round < rounds; ++round) {
    Mutations mutations(static_cast<std::uint32_t>(round));
    const std::string name = kFiles[round % 3];
    const std::string whole = read_file(scratch / name);
    put(scratch / name, changed(name, whole, mutations));
    load(scratch.folder(), fmt::format("{}, round {}", name, round), counts);
    put(scratch / name, whole);
  }
  RecordProperty("loaded", counts.loaded);
  RecordProperty("refused", counts.refused);
  EXPECT_GT(counts.refused, rounds / 3);
}

std::string family_name(const testing::TestParamInfo<std::string_view>& info) {
  constexpr std::string_view kBefore = R"("model_type": ")";
  const std::size_t begin = info.param.find(kBefore) + kBefore.size();
  return std::string(info.param.substr(begin, info.param.find('"', begin) - begin));
}

INSTANTIATE_TEST_SUITE_P(All, MutatedFolder, testing::ValuesIn(kFamilies), family_name);

}  // namespace
}  // namespace heed
