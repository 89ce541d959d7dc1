// The weights of linear layers in the form that matrix products read: packed in memory, or streamed
// from the file.
#pragma once

#include <functional>
#include <span>

#include "heed/model.h"
#include "heed/tensor.h"

namespace heed {

class PackedMatrix;
struct BlockType;

/// Converts the weights of linear layers, in place, to the form that matrix products read best,
/// rounded to `dtype` (f32, f16 or bf16). The model can then run forward only; it can be neither
/// trained nor saved. A weight shared with embeddings is packed too.
void pack(std::span<Parameter* const> parameters, DType dtype);
/// Packs one of them with the numbers of `value`, of any floating type.
void pack(Parameter& parameter, const ConstView& value, DType dtype);
/// Packs quantised blocks, u8 [outputs, bytes per row], which stay quantised: for a linear layer or
/// a look-up table.
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

/// The type of packed weights, f32 if quantised; f32 if none is packed.
DType packed_type(std::span<const Parameter* const> parameters);

}  // namespace heed
