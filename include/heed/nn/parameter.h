// The parameters of a model, and where their gradients are summed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "heed/tensor.h"

namespace heed {

class PackedMatrix;
struct BlockType;

/// How the weight of a linear layer lies in the model file.
enum class WeightLayout : std::uint8_t {
  kInOut,  // GPT-2's Conv1D
  kOutIn,  // torch.nn.Linear
};

/// A named tensor of a layer, f32 unless a model was loaded to run. The name is the one in the
/// model file.
struct Parameter {
  std::string name;
  Tensor value;            // not given where `packed` has the numbers
  bool decays = true;      // weight decay applies (matrices: yes; biases, norms: no)
  bool stacked = false;    // of an expert: files have those of all in one tensor
  bool looked_up = false;  // a table, of which rows alone are read: any floating type will do
  std::optional<WeightLayout> linear = {};          // set: the weight of a linear layer
  std::shared_ptr<const PackedMatrix> packed = {};  // set by `pack`

  std::int64_t element_count() const;
  DType dtype() const;              // in which the numbers are held, f32 of codes
  std::string held_in() const;      // "bf16"; of codes "Q4_K"
  std::int64_t held_bytes() const;  // of the numbers, without what panels add
  bool is_streamed() const;         // its numbers stay in the file between two products
};

/// Brings the weights of linear layers into the form that products read best, rounded to `dtype`
/// (f32, f16 or bf16), in place of the plain ones. Such a model runs forward; it can be neither
/// trained nor saved. A weight that embeddings share is packed too.
void pack(std::span<Parameter* const> parameters, DType dtype);
/// One of them, with the numbers of `value`, of any floating type.
void pack(Parameter& parameter, const ConstView& value, DType dtype);
/// With the numbers of blocks, u8 [outputs, bytes of a row], which stay codes: of a linear layer,
/// or a table whose rows are looked up.
void pack(Parameter& parameter, const BlockType& type, const ConstView& rows);
/// The form in which products read the weight of a linear layer.
PackedMatrix packed_form(WeightLayout layout, const ConstView& value, DType dtype);
/// Leaves the numbers of a linear layer's weight in the file. `read` packs them, as `dtype` or in
/// `blocks`, whenever a product needs them.
void stream(Parameter& parameter, DType dtype, const BlockType* blocks,
            std::function<PackedMatrix()> read);
/// Packs the numbers of streamed parameters, which stay in memory from here on.
void hold(std::span<Parameter* const> parameters);
/// Whether `pack` changes it: the weight of a linear layer, where panels are the faster form.
bool is_packed(const Parameter& parameter, DType dtype);

/// The type of packed weights, f32 of codes; f32 where none is packed.
DType packed_type(std::span<const Parameter* const> parameters);

/// The gradient of each parameter, zero until something is added.
class Gradients {
 public:
  /// f32, of the parameter's shape; made on first use.
  Tensor& of(const Parameter& parameter);
  /// Null where nothing was added.
  const Tensor* find(const Parameter& parameter) const;
  /// Sets all to zero and keeps the memory for the next step.
  void clear();

 private:
  std::unordered_map<const Parameter*, Tensor> gradients_;
};

}  // namespace heed
