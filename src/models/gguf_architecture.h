// llama.cpp's names for heed's families: keys of the metadata and names of tensors. One description
// of an architecture serves reading and writing.
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

/// The keys and tensors of a file that is read or will be written.
struct GgufContent {
  std::string file = {};  // for messages
  std::function<const Json&(std::string_view key)> value = {};
  std::map<std::string, Shape, std::less<>> tensors = {};
  /// The vectors that belong to the configuration: `is_factors`.
  std::map<std::string, std::vector<double>, std::less<>> factors = {};
};

/// Whether a tensor holds frequency factors, which the hub stores in the configuration.
bool is_factors(std::string_view tensor);

/// The keys of one architecture, such as `llama.block_count`, with errors that name them.
class GgufKeys {
 public:
  GgufKeys(const GgufContent& content, std::string_view architecture)
      : content_(content), architecture_(architecture) {}

  std::string name(std::string_view key) const {
    return std::string(architecture_) + "." + std::string(key);
  }
  const Json& value(std::string_view key) const { return content_.value(name(key)); }
  bool has(std::string_view key) const { return !value(key).is_null(); }
  /// A whole number from 1 on; a list of equal numbers (one per layer) counts as one.
  std::int64_t count(std::string_view key) const;
  std::int64_t count(std::string_view key, std::int64_t otherwise) const {
    return has(key) ? count(key) : otherwise;
  }
  std::int64_t head_dim() const;
  double number(std::string_view key, std::optional<double> otherwise = {}) const;
  bool flag(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;
  /// A special token, `tokenizer.ggml.bos_token_id`; null if there is none. Like llama.cpp, ignores
  /// an id outside of the vocabulary.
  Json id(std::string_view key) const;
  bool has_tensor(std::string_view tensor) const { return content_.tensors.contains(tensor); }
  /// An extent of a tensor that must exist.
  std::int64_t extent(std::string_view tensor, int axis) const;
  /// Null if the file does not have them; else `count` numbers.
  const std::vector<double>* factors(std::string_view tensor, std::int64_t count) const;

  /// Throws: the value under `key`, a full name, is not what is expected.
  [[noreturn]] void refuse(std::string_view key, Phrase found, Phrase expected,
                           ErrorCode code = ErrorCode::kCorrupt) const;

 private:
  const GgufContent& content_;
  std::string_view architecture_;
};

/// How a tensor is rearranged between GGUF and the hub's layout.
enum class GgufChange : std::uint8_t {
  kNone,
  kQueryRows,   // in the file, rows of a rotated pair are adjacent; on the hub, the first rows of
                // all pairs precede the second ones
  kKeyRows,     // the same for heads of keys
  kHeadRows,    // in the file: all queries, all keys, all values; on the hub: for each key its
                // queries, the key and its value
  kTransposed,  // the hub has [in, out]
  kLessOne,     // the hub's weight omits the 1 that the norm adds
};
/// [outer, first, second, width] becomes [outer, second, first, width].
Tensor swapped_rows(const Tensor& rows, std::int64_t outer, std::int64_t first,
                    std::int64_t second);

/// Converts rows of `kHeadRows` to the hub's order, or back.
Tensor rows_by_key(const Tensor& rows, std::int64_t heads, std::int64_t kv_heads, bool back);

/// The rows of the hub's matrix that a file's tensor has. gpt-oss on the hub: a gate's row, then a
/// row of what it gates, and so on; a file has two tensors.
enum class GgufRows : std::uint8_t { kAll, kEven, kOdd };
/// The matrix whose even and odd rows these are, and one half of a matrix.
Tensor interleaved(const Tensor& even, const Tensor& odd);
Tensor rows_of(const Tensor& matrix, GgufRows rows);

/// One tensor's name in a file and on the hub; `#` is the layer, `%` an expert or head (a file
/// stores all of them in one tensor); endings such as ".weight" are the same in both.
struct GgufName {
  std::string stored;
  std::string hub;
  GgufChange change = GgufChange::kNone;
  GgufRows rows = GgufRows::kAll;
  bool bare = false;  // on the hub without ".weight"
};

/// A key of the file and the equivalent key of config.json: a number or a flag.
struct GgufValue {
  std::string_view stored;
  const char* hub;
  Json otherwise = {};    // default of both; null: may be absent
  bool is_count = false;  // a whole number from 1 on
};
/// A key of config.json that is true if the file holds a tensor of the first layer.
struct GgufSign {
  const char* hub;
  std::string_view tensor;
  bool absent = false;  // true if it does not
};

/// The differences between the decoders. Names of tensors and most keys follow from the family's
/// `DecoderShape`.
/// Where llama.cpp looks for the head of an architecture.
enum class GgufHead : std::uint8_t {
  kEither,  // in the file, else the words
  kOwn,     // in the file, even if it equals the words
  kTied,    // the words
};

struct GgufDecoder {
  const char* class_name = "";  // the class in transformers
  GgufHead head = GgufHead::kEither;
  bool has_factors = false;  // llama.cpp reads factors of frequencies (Llama 3's, longrope)
  TrainingKeys sizes = {};   // key names in config.json
  const char* epsilon = "rms_norm_eps";
  bool centred = false;                   // LayerNorm, whose epsilon has another key
  bool rotates = true;                    // false: it has a table of positions
  bool turns_neighbours = false;          // llama.cpp rotates neighbouring elements
  const char* base = "rope_theta";        // key in config.json
  const char* share = nullptr;            // null: whole heads are rotated
  std::optional<double> local_base = {};  // for layers with a window, if the file has none; 0: the
                                          // same as the others. Absent: all layers rotate alike
  bool heads_alike = false;       // config.json has neither num_key_value_heads nor head_dim
  bool mlp_norm_first = false;    // llama.cpp's first norm is the MLP's
  bool mlp_norm_behind = false;   // llama.cpp names the MLP's norm after the attention
  const char* experts = nullptr;  // the key of their number in config.json; null: no experts
  std::int64_t period = 0;        // each period ends with a layer without a window; 0: no windows
  std::int64_t window = 0;        // if the file does not say it; 0: none
  bool lists_windows = false;     // the file has a flag per layer
  std::vector<GgufValue> values = {};
  std::vector<GgufSign> signs = {};
  Json fixed = {};  // required in config.json, but not in the file
  void (*finish)(const GgufKeys& keys, Json& config) = nullptr;
};
/// The period of an architecture in which every layer has a window.
inline constexpr std::int64_t kAllSlide = std::int64_t{1} << 40;

/// A setting that affects a model's computation, and its value as text.
struct GgufFact {
  std::string_view name;
  std::string value;
};

struct GgufArchitecture {
  std::string_view name;
  std::vector<std::string_view> model_types;  // the types that can be written; reading gives the
                                              // first, unless `finish` changes it
  GgufDecoder decoder = {};
  // An encoder or encoder-decoder has these functions instead of `decoder`, except for its head.
  Json (*config)(const GgufKeys& keys) = nullptr;
  Json (*keys)(const Config& config) = nullptr;
  std::vector<GgufName> (*names)(const Config& config) = nullptr;
  std::vector<GgufFact> (*facts)(const Config& config) = nullptr;
  bool (*writes)(const Config& config) = nullptr;  // null: can write all its model_types
  // The factor of states before the head, which llama.cpp does not have. Null: none.
  double (*head_scale)(const Config& config) = nullptr;
};

const std::vector<GgufArchitecture>& gguf_architectures();

/// Builds the config.json of the hub's model.
Json gguf_config(const GgufArchitecture& architecture, const GgufContent& content);
/// The reverse: the keys for a model of this configuration, without the architecture's prefix, and
/// the frequency factors by tensor.
struct GgufWritten {
  Json keys;
  std::map<std::string, std::vector<double>, std::less<>> factors = {};
};
GgufWritten gguf_keys(const GgufArchitecture& architecture, const Config& config);
/// The names of the tensors that a model of this configuration may have.
std::vector<GgufName> gguf_names(const GgufArchitecture& architecture, const Config& config);
/// Throws for the first setting of the model of `config` that a file with this content would not
/// reproduce.
void require_said(const GgufArchitecture& architecture, const Config& config,
                  const GgufContent& content);

/// A tensor under its other name.
struct RenamedTensor {
  std::string name;
  GgufChange change = GgufChange::kNone;
  GgufRows rows = GgufRows::kAll;
};
/// Translates the name of a tensor, "blk.3.attn_q.weight", from column `from` of the names to
/// column `to`. Empty if the architecture does not have the tensor; two if a file has it in halves.
std::vector<RenamedTensor> renamed(const std::vector<GgufName>& names, std::string_view name,
                                   std::string GgufName::* from, std::string GgufName::* to);

/// The architecture for a configuration's `model_type`; kUnsupported lists the supported ones.
const GgufArchitecture& gguf_architecture(const Config& config);
/// The architecture for `general.architecture`; kUnsupported lists the known ones.
const GgufArchitecture& gguf_architecture(const GgufContent& content);

// The parts for encoders (gguf_encoders.cpp) and for decoders (gguf_decoder.cpp, gguf_rope.cpp).
GgufArchitecture gguf_bert();
GgufArchitecture gguf_t5();
GgufArchitecture gguf_t5_encoder();
Json gguf_decoder_config(const GgufArchitecture& architecture, const GgufKeys& keys);
GgufWritten gguf_decoder_keys(const GgufArchitecture& architecture, const Config& config,
                              const DecoderShape& shape);
std::vector<GgufName> gguf_decoder_names(const GgufDecoder& decoder, const DecoderShape& shape);
std::vector<GgufFact> gguf_facts(const DecoderShape& shape);
std::string gguf_fact(bool is);
void read_gguf_rope(const GgufDecoder& decoder, const GgufKeys& keys,
                    const std::vector<bool>& slides, Json& config);
/// The numbers by which frequencies are divided, if there is one per pair for texts of all lengths.
std::vector<double> fixed_rope_factors(const RopeScaling& rope);
void write_gguf_rope(const GgufArchitecture& architecture, const DecoderShape& shape,
                     GgufWritten& written);

}  // namespace heed
