#include "generate/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

#include "generate/forward.h"
#include "heed/error.h"
#include "heed/generate.h"
#include "nn/parameter.h"

namespace heed {
namespace {

constexpr std::int64_t kTokensAtOnce = 256;  // tokens whose logits are in memory

void check(const Model& model, const EvaluateArgs& args) {
  const ModelInfo& info = model.info();
  if (!info.causal || !info.has_logits || info.reads_source())
    fail({.code = ErrorCode::kUnsupported,
          .op = "evaluate",
          .found = info.title + " does not predict next tokens",
          .expected = "a decoder"});
  if (args.context < 2 || args.context > info.positions)
    fail("evaluate", "context", args.context,
         fmt::format("2 to {} (the model's positions)", info.positions));
  if (args.stride < 1 || args.stride >= args.context)
    fail("evaluate", "stride", args.stride,
         fmt::format("1 to {}, less than the context", args.context - 1));
  if (args.given < 1 || args.given > std::ssize(args.ids))
    fail("evaluate", "given", args.given, fmt::format("1 to {} (the tokens)", args.ids.size()));
  for (std::size_t i = 0; i < args.ids.size(); ++i)
    if (args.ids[i] < 0 || args.ids[i] >= info.vocabulary)
      fail("evaluate", fmt::format("ids[{}]", i), args.ids[i],
           fmt::format("0 to {} (the vocabulary)", info.vocabulary - 1));
}

// The loss of tokens `first` to `end` of the text in the window that begins at `begin`.
double window_loss(const Model& model, const EvaluateArgs& args, std::int64_t begin,
                   std::int64_t first, std::int64_t end) {
  KvCache cache = make_cache(model, 1, end - 1 - begin);
  const bool in_bulk = packed_type(model.parameters()) == DType::kBF16;
  double loss = 0;
  for (std::int64_t at = begin; at < end - 1; at += kTokensAtOnce) {
    const std::int64_t count = std::min(kTokensAtOnce, end - 1 - at);
    const ConstView ids(args.ids.data() + at, DType::kI32, {1, count});
    Run run;
    run.cache = &cache;
    run.in_bulk = in_bulk;
    run.last_position_only = at + count < first;  // no token of this part is scored
    const Tensor logits = model.forward({.ids = ids}, run);
    if (run.last_position_only) continue;
    for (std::int64_t i = std::max(first - 1 - at, std::int64_t{0}); i < count; ++i) {
      const std::span<const float> row = row_of(logits, static_cast<std::size_t>(i));
      check_logits(row);
      loss += distribution_of(row).log_sum -
              row[static_cast<std::size_t>(args.ids[static_cast<std::size_t>(at + i + 1)])];
    }
    if (args.done) args.done(at + count + 1 - args.given);
  }
  return loss;
}

}  // namespace

double text_loss(const Model& model, const EvaluateArgs& args) {
  check(model, args);
  const std::int64_t count = std::ssize(args.ids);
  double loss = 0;
  std::int64_t first = args.given;
  for (std::int64_t begin = 0; first < count; begin += args.stride) {
    const std::int64_t end = std::min(begin + args.context, count);
    if (end <= first) continue;  // all of it is context
    loss += window_loss(model, args, begin, first, end);
    first = end;
  }
  return loss;
}

}  // namespace heed
