#include <fmt/format.h>

#include <utility>

#include "base/wording.h"
#include "heed/attention.h"
#include "heed/error.h"
#include "heed/mask.h"
#include "heed/operators.h"
#include "ops/elementwise.h"
#include "tensor/operand.h"
#include "tensor/text.h"

namespace heed {
namespace {

// Rows as one batch with one head.
AttentionArgs attention_of(const MessagePassingArgs& args) {
  if (!args.x.given() || args.x.rank() != 2)
    fail("message_passing", "x", to_string(args.x), "[N, C]");
  if (args.scale.size() > 1)
    fail("message_passing", "scale", fmt::format("a list of {}", args.scale.size()),
         "none or one entry");
  const ConstView x = as_head(args.x);
  const auto graph = [&] { return Mask::edges(args.graph.row_starts, args.graph.columns); };
  AttentionArgs attention = {.q = x,
                             .keys = {.k = x, .v = x},
                             .mask = reworded(graph,
                                              [](ErrorParts& parts) {
                                                parts.op = "message_passing";
                                                parts.argument = "graph." + parts.argument.text();
                                              }),
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
  if (dy.shape() != args.x.shape() || dy.dtype() != args.x.dtype())
    fail("message_passing", "dy", to_string(dy), to_string(args.x));
  AttentionGrads grads = attention_backward(problem, attention(problem), as_head(dy));
  Tensor dx = add(std::move(grads.dq), add(std::move(grads.dk), grads.dv));
  return std::move(dx).reshaped(args.x.shape());
}

}  // namespace heed
