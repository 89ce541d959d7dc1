// What llama.cpp calls the models that heed's families serve: keys of the metadata and names of
// tensors. One description of an architecture serves both directions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "heed/error.h"
#include "heed/tensor.h"
#include "models/config.h"
#include "models/decoder.h"

namespace heed {

/// The keys and tensors of a file that is read, or of one that is about to be written.
struct GgufContent {
  std::string file = {};  // for messages
  std::function<const Json&(std::string_view key)> value = {};
  std::map<std::string, Shape, std::less<>> tensors = {};
  /// The numbers of the vectors that belong to the configuration: `is_factors`.
  std::map<std::string, std::vector<double>, std::less<>> factors = {};
};

/// Whether a tensor holds factors of the frequencies, which the hub writes into the configuration.
bool is_factors(std::string_view tensor);

/// The keys of one architecture, `llama.block_count`, with errors that name them.
class GgufKeys {
 public:
  GgufKeys(const GgufContent& content, std::string_view architecture)
      : content_(content), architecture_(architecture) {}

  std::string name(std::string_view key) const {
    return std::string(architecture_) + "." + std::string(key);
  }
  const Json& value(std::string_view key) const { return content_.value(name(key)); }
  bool has(std::string_view key) const { return !value(key).is_null(); }
  /// A whole number from 1; a list of equal ones, as one a layer, counts as one.
  std::int64_t count(std::string_view key) const;
  std::int64_t count(std::string_view key, std::int64_t otherwise) const {
    return has(key) ? count(key) : otherwise;
  }
  std::int64_t head_dim() const;
  double number(std::string_view key, std::optional<double> otherwise = {}) const;
  bool flag(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;
  /// A special token, `tokenizer.ggml.bos_token_id`; null for none.
  Json id(std::string_view key) const;
  bool has_tensor(std::string_view tensor) const { return content_.tensors.contains(tensor); }
  /// An extent of a tensor that has to be there.
  std::int64_t extent(std::string_view tensor, int axis) const;
  /// Null where the file does not hold them; else `count` numbers.
  const std::vector<double>* factors(std::string_view tensor, std::int64_t count) const;

  /// Fails: what the file says under `key`, its whole name, is not what is expected.
  [[noreturn]] void refuse(std::string_view key, Phrase found, Phrase expected,
                           ErrorCode code = ErrorCode::kCorrupt) const;

 private:
  const GgufContent& content_;
  std::string_view architecture_;
};

/// How a tensor is rearranged between GGUF and the hub's layout.
enum class GgufChange : std::uint8_t {
  kNone,
  kQueryRows,   // rows of a rotated pair stand side by side; the hub has the first of all pairs,
                // then the second
  kKeyRows,     // the same, of the heads of keys
  kHeadRows,    // all queries, all keys, all values; the hub has a key, its queries before it and
                // its value behind it side by side
  kTransposed,  // the hub has [in, out]
  kLessOne,     // the hub has the weight without the 1 that the norm adds
};
/// [outer, first, second, width] becomes [outer, second, first, width].
Tensor swapped_rows(const Tensor& rows, std::int64_t outer, std::int64_t first,
                    std::int64_t second);

/// Rows of `kHeadRows` as the hub has them, or back.
Tensor rows_by_key(const Tensor& rows, std::int64_t heads, std::int64_t kv_heads, bool back);

/// One tensor's name in a file and on the hub; `#` stands for the layer, `%` for an expert (a file
/// has those of all in one tensor), endings as ".weight" are common to both.
struct GgufName {
  std::string stored;
  std::string hub;
  GgufChange change = GgufChange::kNone;
};

/// A key of the file and the key of config.json that says the same: a number or a flag.
struct GgufValue {
  std::string_view stored;
  const char* hub;
  Json otherwise = {};    // where either does not say it; null: it may be absent
  bool is_count = false;  // a whole number from 1
};
/// A key of config.json that is true where the file holds a tensor of the first layer.
struct GgufSign {
  const char* hub;
  std::string_view tensor;
  bool absent = false;  // true where it does not
};

/// What differs between the decoders. Names of tensors and most keys follow from the family's
/// `DecoderShape`.
struct GgufDecoder {
  const char* class_name = "";  // transformers' own
  TrainingKeys sizes = {};      // what config.json calls them
  const char* epsilon = "rms_norm_eps";
  bool centred = false;                   // LayerNorm, whose epsilon has another key
  bool rotates = true;                    // else it has a table of positions
  bool turns_neighbours = false;          // llama.cpp turns neighbouring elements
  const char* base = "rope_theta";        // what config.json calls them
  const char* share = nullptr;            // null: whole heads turn
  std::optional<double> local_base = {};  // of layers with a window, where the file has none; 0:
                                          // that of the others. Absent: all layers turn alike
  bool heads_alike = false;       // config.json has neither num_key_value_heads nor head_dim
  bool mlp_norm_first = false;    // of two norms llama.cpp calls the MLP's the first
  const char* experts = nullptr;  // the key of their number in config.json; null: no experts
  std::int64_t period = 0;        // each period ends with a layer without a window; 0: no windows
  std::int64_t window = 0;        // where the file does not say it; 0: none
  bool lists_windows = false;     // the file has a flag for each layer
  std::vector<GgufValue> values = {};
  std::vector<GgufSign> signs = {};
  Json fixed = {};  // what config.json has to say, and the file does not
  void (*finish)(const GgufKeys& keys, Json& config) = nullptr;
};
/// The period of an architecture whose layers all have a window.
inline constexpr std::int64_t kAllSlide = std::int64_t{1} << 40;

/// Something that a model computes by, and its value as a text.
struct GgufFact {
  std::string_view name;
  std::string value;
};

struct GgufArchitecture {
  std::string_view name;
  std::vector<std::string_view> model_types;  // of those that are written so; what is read is the
                                              // first, unless `finish` says another
  GgufDecoder decoder = {};
  // An encoder or an encoder-decoder has these functions in place of `decoder`.
  Json (*config)(const GgufKeys& keys) = nullptr;
  Json (*keys)(const Config& config) = nullptr;
  std::vector<GgufName> (*names)(const Config& config) = nullptr;
  std::vector<GgufFact> (*facts)(const Config& config) = nullptr;
  bool (*writes)(const Config& config) = nullptr;  // null: all of its model_types
};

/// The config.json of the hub's model.
Json gguf_config(const GgufArchitecture& architecture, const GgufContent& content);
/// The way back: the keys of a model of this configuration, by their names behind the
/// architecture's, and the factors of the frequencies by tensor.
struct GgufWritten {
  Json keys;
  std::map<std::string, std::vector<double>, std::less<>> factors = {};
};
GgufWritten gguf_keys(const GgufArchitecture& architecture, const Config& config);
/// The names of the tensors that a model of this configuration may have.
std::vector<GgufName> gguf_names(const GgufArchitecture& architecture, const Config& config);
/// Fails with the first thing that the model of `config` computes by and a file of this content
/// would say otherwise.
void require_said(const GgufArchitecture& architecture, const Config& config,
                  const GgufContent& content);

/// A tensor under its other name.
struct RenamedTensor {
  std::string name;
  GgufChange change = GgufChange::kNone;
};
/// The name of a tensor, "blk.3.attn_q.weight", from the column `from` of the names to the column
/// `to`; none for a tensor that the architecture does not have.
std::optional<RenamedTensor> renamed(const std::vector<GgufName>& names, std::string_view name,
                                     std::string GgufName::* from, std::string GgufName::* to);

/// That of a configuration's `model_type`; kUnsupported names those that have one.
const GgufArchitecture& gguf_architecture(const Config& config);
/// That of `general.architecture`; kUnsupported names those that are known.
const GgufArchitecture& gguf_architecture(const GgufContent& content);

// The parts of it that are no decoders (gguf_encoders.cpp), and of decoders (gguf_decoder.cpp,
// gguf_rope.cpp).
GgufArchitecture gguf_bert();
GgufArchitecture gguf_t5();
GgufArchitecture gguf_t5_encoder();
Json gguf_decoder_config(const GgufArchitecture& architecture, const GgufKeys& keys);
GgufWritten gguf_decoder_keys(const GgufArchitecture& architecture, const Config& config,
                              const DecoderShape& shape);
std::vector<GgufName> gguf_decoder_names(const GgufDecoder& decoder, const DecoderShape& shape);
std::vector<GgufFact> gguf_facts(const DecoderShape& shape);
std::string gguf_fact(bool is);
std::string gguf_fact(Activation activation);
void read_gguf_rope(const GgufDecoder& decoder, const GgufKeys& keys,
                    const std::vector<bool>& slides, Json& config);
void write_gguf_rope(const DecoderShape& shape, GgufWritten& written);

}  // namespace heed
