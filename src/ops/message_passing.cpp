#include "heed/ops/message_passing.h"

#include <utility>

#include "heed/base/error.h"
#include "heed/masks/edges.h"
#include "heed/ops/attention.h"
#include "ops/add.h"

namespace heed {
namespace {

// Rows as one batch of one head.
ConstView as_head(const ConstView& rows) {
  return {rows.raw(),
          rows.dtype(),
          {1, 1, rows.dim(0), rows.dim(1)},
          {0, 0, rows.stride(0), rows.stride(1)}};
}

AttentionArgs attention_of(const MessagePassingArgs& args) {
  require(args.x.given() && args.x.rank() == 2, "message_passing: x is {}, expected [N, C]",
          to_string(args.x.shape()));
  require(args.scale.size() <= 1, "message_passing: scale has {} entries, expected none or one",
          args.scale.size());
  const ConstView x = as_head(args.x);
  AttentionArgs attention = {.q = x,
                             .keys = {.k = x, .v = x},
                             .mask = edges(args.graph.row_starts, args.graph.columns),
                             .kernel = args.kernel};
  attention.scores.scale = args.scale;
  return attention;
}

}  // namespace

Tensor message_passing(const MessagePassingArgs& args) {
  return attention(attention_of(args)).out.reshaped(args.x.shape());
}

Tensor message_passing_backward(const MessagePassingArgs& args, const ConstView& dy) {
  const AttentionArgs problem = attention_of(args);
  require(dy.shape() == args.x.shape() && dy.dtype() == args.x.dtype(),
          "message_passing: dy is {} {}, expected {} {}", name(dy.dtype()), to_string(dy.shape()),
          name(args.x.dtype()), to_string(args.x.shape()));
  AttentionGrads grads = attention_backward(problem, attention(problem), as_head(dy));
  Tensor dx = add(std::move(grads.dq), add(std::move(grads.dk), grads.dv));
  return std::move(dx).reshaped(args.x.shape());
}

}  // namespace heed
