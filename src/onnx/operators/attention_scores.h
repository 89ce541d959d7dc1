// Attention's debugging output qk_matmul_output.
#pragma once

#include "heed/attention.h"

namespace heed::onnx {

enum class ScoreStage : std::uint8_t { kRaw, kAfterSoftcap, kAfterMask, kAfterSoftmax };

/// [B, H, Tq, Tk] after a stage; quadratic memory, as the operator asks for it. Before the mask it
/// is defined at every pair; masked pairs are -inf after it and 0 after the softmax.
Tensor scores_after(ScoreStage stage, const AttentionArgs& args, const Attended& attended);

}  // namespace heed::onnx
