#include "cli/attend/gradient_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "heed/error.h"

namespace heed::cli {
namespace {

// Paged keys, ring keys and i8 keys have no gradient.
bool has_gradient(const Keys& keys, const ConstView& operand) {
  return !keys.page_table.given() && keys.ring_begin.empty() && is_floating(operand.dtype());
}

AttentionGradRequest of_all_given(const AttentionOptions& options, const AttentionArgs& args) {
  return {.dk = has_gradient(args.keys, args.keys.k),
          .dv = has_gradient(args.keys, args.keys.v),
          .dbias = !options.bias.empty(),
          .dsink = !options.sink.empty(),
          .dslope = !options.alibi.empty(),
          .dscale = !options.scale.empty()};
}

}  // namespace

Option grad_of_option(AttentionOptions& options) {
  return {.name = "--grad-of",
          .to = &options.grad_of,
          .type = "LIST",
          .help =
              "only these gradients: dq, dk, dv, dbias, dsink, dslope, dscale (default: of all "
              "that is given, of --scale too, which the fast kernels have no gradient of)",
          .words = {"dq", "dk", "dv", "dbias", "dsink", "dslope", "dscale"}};
}

AttentionGradRequest grad_request(const AttentionOptions& options, const AttentionArgs& args) {
  const AttentionGradRequest all = of_all_given(options, args);
  if (options.grad_of.empty()) return all;
  AttentionGradRequest request = {.dq = false, .dk = false, .dv = false};
  for (const NamedGradient& gradient : kGradients) {
    if (std::ranges::find(options.grad_of, gradient.name) == options.grad_of.end()) continue;
    const bool of_keys = gradient.option[0] != '-';
    if (!(all.*gradient.asked))
      fail({.argument = "--grad-of",
            .found = gradient.name,
            .expected = of_keys ? "other gradients: keys in pages, in a ring or of i8 have none"
                                : fmt::format("{} beside it", gradient.option)});
    request.*gradient.asked = true;
  }
  return request;
}

}  // namespace heed::cli
