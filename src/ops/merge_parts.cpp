#include "ops/merge_parts.h"

#include <span>

#include "heed/base/error.h"

namespace heed {
namespace {

void check_sink(const ConstView& sink, const ConstView& out) {
  if (!sink.given()) return;
  const std::int64_t heads = out.dim(-3);
  require(sink.shape() == Shape{heads} && is_floating(sink.dtype()),
          "merge: sink is {} of {}: a float for each of the {} heads is expected",
          to_string(sink.shape()), name(sink.dtype()), heads);
  require_memory("merge", {"sink", sink});
}

}  // namespace

Shape part_lse_shape(const ConstView& out) {
  return Shape(std::span(out.shape().begin(), static_cast<std::size_t>(out.rank()) - 1));
}

void check_part_out(const Operand& out, const ConstView& like) {
  require(out.view.given(), "merge: {} is not given", out.name);
  require((out.view.rank() == 3 || out.view.rank() == 4) && is_floating(out.view.dtype()),
          "merge: {} is {} of {}: [B, H, Tq, Dv] or [H, total, Dv] of f64, f32, f16 or bf16 is "
          "expected",
          out.name, to_string(out.view.shape()), name(out.view.dtype()));
  require(out.view.shape() == like.shape() && out.view.dtype() == like.dtype(),
          "merge: {} is {} of {} but a.out is {} of {}: they must agree", out.name,
          to_string(out.view.shape()), name(out.view.dtype()), to_string(like.shape()),
          name(like.dtype()));
  require_memory("merge", out);
}

void check_part_rows(const Operand& rows, const ConstView& out) {
  if (!rows.view.given()) return;
  const Shape wanted = part_lse_shape(out);
  require(rows.view.shape() == wanted && rows.view.dtype() == part_lse_type(out),
          "merge: {} is {} of {}: {} of {} is expected, as a.out is {} of {}", rows.name,
          to_string(rows.view.shape()), name(rows.view.dtype()), to_string(wanted),
          name(part_lse_type(out)), to_string(out.shape()), name(out.dtype()));
  require_memory("merge", rows);
}

void check_parts(const MergeArgs& args) {
  const ConstView& out = args.a.out;
  check_part_out({"a.out", out}, out);
  check_part_out({"b.out", args.b.out}, out);
  for (const Operand& rows : {Operand{"a.lse", args.a.lse}, Operand{"a.lse_low", args.a.lse_low},
                              Operand{"b.lse", args.b.lse}, Operand{"b.lse_low", args.b.lse_low}})
    check_part_rows(rows, out);
  require(args.a.lse.given() == args.b.lse.given(),
          "merge: {} has a lse but {} has none: parts of one normaliser are expected",
          args.a.lse.given() ? "a" : "b", args.a.lse.given() ? "b" : "a");
  require(args.a.lse.given() || !args.sink.given(),
          "merge: sink is given but the parts have no lse: it belongs to the softmax");
  check_sink(args.sink, out);
}

}  // namespace heed
