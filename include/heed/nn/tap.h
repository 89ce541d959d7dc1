// How a pass reports upward and how an experiment reaches down.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "heed/attention.h"
#include "heed/mask.h"

namespace heed {

enum class TapKind : std::uint8_t {
  kEmbedding,       // [B, T, C] after embedding and position
  kAttentionInput,  // [B, T, C] what the attention reads: the normed stream, where norms come first
  kQuery,           // [B, H, T, D] as scored (after norm and rotation), a strided view
  kKey,             // [B, G, T, D]; before the rotation where a cache keeps keys so (nn/rotation.h)
  kValue,           // [B, G, T, Dv]
  kHeads,           // [B, H, T, Dv] what the heads gave, before the output projection
  kAttention,       // [B, T, C] what the attention block adds to the residual stream
  kMiddle,          // [B, T, C] the stream between attention and MLP
  kMlpInput,        // [B, T, C] what the MLP reads
  kMlpHidden,       // [B, T, F] before the activation; of a gated MLP the gate
  kMlpActive,       // [B, T, F] what the MLP's last layer reads
  kMlp,             // [B, T, C] what the MLP adds
  kResidual,        // [B, T, C] after the layer
  kFinal,           // [B, T, C] after the last norm
  kLogits,          // [B, T, V]
};

/// The attentions of a model by name: a decoder or an encoder alone has `self`, the others belong
/// to models that have both.
enum class Stack : std::uint8_t { kSelf, kEncoder, kDecoder, kCross };

/// "self", "encoder", "decoder", "cross".
std::string_view stack_name(Stack stack);
std::optional<Stack> stack_of(std::string_view name);

/// Which activation. Those of a pass as a whole (layer -1) carry the stack whose stream they are:
/// kSelf, or kEncoder and kDecoder.
struct TapName {
  Stack stack = Stack::kSelf;
  int layer = -1;  // -1 where the kind belongs to no layer
  TapKind kind = TapKind::kResidual;
};

/// Sees every named activation and may overwrite it in place (not while training: backward does not
/// know of it).
class Tap {
 public:
  virtual ~Tap() = default;
  virtual void at(const TapName& name, View value);
  /// One finished attention: its arguments (views that live only during the call) and its
  /// log-sum-exp.
  virtual void attended(const TapName& name, const AttentionArgs& args,
                        const AttendedConstView& attended);
  /// A mask to add, by head; the default adds none.
  virtual Mask mask(Stack stack, int layer);
};

}  // namespace heed
