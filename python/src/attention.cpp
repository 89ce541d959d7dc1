#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "arrays.h"
#include "bind.h"
#include "computing.h"
#include "problem.h"
#include "seen.h"

namespace heed::python {
namespace {

// Allocates everything that a Seen keeps besides `out`.
void allocate_kept(Seen& seen, const ConstView& out) {
  const DType type = seen.problem.args.q.dtype();
  if (size_bytes(type) == 2) seen.out_low = Tensor::empty(out.shape(), type);
  if (!seen.problem.has_lse()) return;
  const Shape rows(std::span(out.shape().begin(), static_cast<std::size_t>(out.rank() - 1)));
  const DType lse_type = type == DType::kF64 ? DType::kF64 : DType::kF32;
  seen.lse = Tensor::empty(rows, lse_type);
  seen.lse_low = Tensor::empty(rows, lse_type);
}

nb::object attend_into(const Problem& problem, Borrowed out, bool keep) {
  if (!keep) {
    computing([&] { attention(problem.args, AttendedView{.out = out.writable_view()}); });
    return nb::none();
  }
  Seen seen;
  seen.problem = problem;
  if (out.view.rank() > 0) allocate_kept(seen, out.view);
  seen.out = std::move(out);
  computing([&] {
    attention(seen.problem.args, AttendedView{.out = seen.out.writable_view(),
                                              .lse = seen.lse,
                                              .lse_low = seen.lse_low,
                                              .out_low = seen.out_low});
  });
  return nb::cast(std::move(seen));
}

// Allocates out with heed: returns (out, Seen or None).
nb::tuple attend_new(const Problem& problem, bool keep) {
  Attended attended = computing([&] { return attention(problem.args); });
  nb::object out = exported(attended.out.share());
  if (!keep) return nb::make_tuple(out, nb::none());
  Seen seen;
  seen.problem = problem;
  seen.out.view = attended.out;
  seen.out.owner = std::make_shared<Tensor>(std::move(attended.out));
  seen.lse = std::move(attended.lse);
  seen.lse_low = std::move(attended.lse_low);
  seen.out_low = std::move(attended.out_low);
  return nb::make_tuple(out, nb::cast(std::move(seen)));
}

nb::dict plan_of(const Problem& problem, const nb::object& backward) {
  std::optional<AttentionGradRequest> request;
  if (!backward.is_none()) request = gradient_request(nb::tuple(backward));
  const Plan chosen = computing([&] {
    if (request) return plan_attention_backward(problem.args, *request);
    return plan_attention(problem.args);
  });
  nb::list refusals;
  for (const Plan::Refusal& each : chosen.refusals)
    refusals.append(nb::make_tuple(each.kernel, each.reason));
  nb::dict dict;
  dict["kernel"] = chosen.kernel;
  dict["refusals"] = nb::tuple(refusals);
  dict["mask"] = chosen.mask;
  dict["alignment"] = chosen.alignment;
  dict["allowed_pairs"] = chosen.allowed_pairs;
  dict["flop"] = chosen.flop;
  dict["bytes"] = chosen.bytes;
  dict["workspace_bytes"] = chosen.workspace_bytes;
  return dict;
}

}  // namespace

void bind_attention(nb::module_& module) {
  module.def(
      "attend_into",
      [](const Problem& problem, const nb::object& out, bool keep, bool by_token) {
        Borrowed memory = borrow_output(out, "out");
        if (by_token && memory.view.rank() == 4) memory.view = memory.view.permute({0, 2, 1, 3});
        return attend_into(problem, std::move(memory), keep);
      },
      nb::arg("problem"), nb::arg("out").none(), nb::arg("keep"), nb::arg("by_token") = false,
      "`by_token`: out is [B, Tq, H, Dv].");
  module.def("attend_new", &attend_new, nb::arg("problem"), nb::arg("keep"));
  module.def("plan", &plan_of, nb::arg("problem"), nb::arg("backward").none());
}

}  // namespace heed::python
