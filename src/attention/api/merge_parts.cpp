#include "attention/api/merge_parts.h"

#include <fmt/format.h>

#include <span>

#include "heed/error.h"
#include "tensor/text.h"

namespace heed {
namespace {

void check_sink(const ConstView& sink, const ConstView& out) {
  if (!sink.given()) return;
  const std::int64_t heads = out.dim(-3);
  if (sink.shape() != Shape{heads} || !is_floating(sink.dtype()))
    fail("merge", "sink", to_string(sink), fmt::format("a float for each of the {} heads", heads));
  require_memory("merge", {"sink", sink});
}

}  // namespace

Shape part_lse_shape(const ConstView& out) {
  return Shape(std::span(out.shape().begin(), static_cast<std::size_t>(out.rank()) - 1));
}

void check_part_out(const Operand& out, const ConstView& like) {
  if (!out.view.given()) fail("merge", out.name, {}, "[B, H, Tq, Dv] or [H, total, Dv]");
  if ((out.view.rank() != 3 && out.view.rank() != 4) || !is_floating(out.view.dtype()))
    fail("merge", out.name, to_string(out.view),
         "[B, H, Tq, Dv] or [H, total, Dv] of f64, f32, f16 or bf16");
  if (out.view.shape() != like.shape() || out.view.dtype() != like.dtype())
    fail("merge", out.name, to_string(out.view), fmt::format("{} as a.out", to_string(like)));
  require_memory("merge", out);
}

void check_part_rows(const Operand& rows, const ConstView& out) {
  if (!rows.view.given()) return;
  const Shape wanted = part_lse_shape(out);
  if (rows.view.shape() != wanted || rows.view.dtype() != part_lse_type(out))
    fail("merge", rows.name, to_string(rows.view),
         fmt::format("{} (a.out is {})", to_string(part_lse_type(out), wanted), to_string(out)));
  require_memory("merge", rows);
}

void check_parts(const MergeArgs& args) {
  const ConstView& out = args.a.out;
  check_part_out({"a.out", out}, out);
  check_part_out({"b.out", args.b.out}, out);
  for (const Operand& rows : {Operand{"a.lse", args.a.lse}, Operand{"a.lse_low", args.a.lse_low},
                              Operand{"b.lse", args.b.lse}, Operand{"b.lse_low", args.b.lse_low}})
    check_part_rows(rows, out);
  if (args.a.lse.given() != args.b.lse.given())
    fail("merge", args.a.lse.given() ? "b.lse" : "a.lse", {},
         args.a.lse.given() ? "one, as a has it" : "one, as b has it");
  if (!args.a.lse.given() && args.sink.given())
    fail("merge", "sink", "given", "none (the parts have no lse, so that they are not a softmax)");
  check_sink(args.sink, out);
}

}  // namespace heed
