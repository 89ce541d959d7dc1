#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "attention/api/checked.h"
#include "c/given.h"
#include "c/guard.h"
#include "c/problem.h"
#include "heed/c.h"
#include "heed/observe.h"
#include "tensor/views.h"

heed_status heed_attention(const heed_attention_args* args, const heed_attended* into) {
  return heed::c::guarded([&] {
    const heed::AttentionArgs problem = heed::c::attention_args("attention", args);
    heed::attention(problem, heed::c::attended_view("attention", "into", into));
  });
}

namespace heed::c {
namespace {

// The inputs of dbias, dslope, dsink and dscale, in this order; not given if the input is absent.
std::array<ConstView, 4> inputs_of(const AttentionArgs& args) {
  const Scores& scores = args.scores;
  const std::int64_t scales = scores.scale.size() > 1 ? args.q.dim(-3) : 1;
  return {scores.bias, scores.alibi, scores.sink, {nullptr, lse_type(args), Shape{scales}}};
}

// The memory that a plan points to.
struct OwnedPlan : heed_plan {
  explicit OwnedPlan(Plan plan) : heed_plan{}, of(std::move(plan)) {
    for (const auto& [refused_kernel, reason] : of.refusals) {
      names.push_back(refused_kernel.c_str());
      why.push_back(reason.c_str());
    }
    static_cast<heed_plan&>(*this) = {
        sizeof(heed_plan),    of.text.c_str(),         of.kernel.c_str(), of.mask.c_str(),
        of.alignment.c_str(), of.allowed_pairs,        of.flop,           of.bytes,
        of.workspace_bytes,   std::ssize(of.refusals), names.data(),      why.data()};
  }
  OwnedPlan& operator=(OwnedPlan&&) = delete;

  Plan of;
  std::vector<const char*> names;
  std::vector<const char*> why;
};

heed_status planned(const heed_plan** plan, std::string_view op, const auto& make) noexcept {
  if (plan != nullptr) *plan = nullptr;
  return guarded([&] {
    require_pointer(op, "plan", plan);
    *plan = std::make_unique<const OwnedPlan>(make(op)).release();
  });
}

}  // namespace

Gradients::Gradients(std::string_view op, const heed_gradients* into) : op_(op) {
  const auto given = given_struct(op, "into", into);
  const auto place = [&](const char* name, const heed_view& view) {
    return Place{name, view_of(op, name, view)};
  };
  dq_ = place("dq", given.dq);
  dk_ = place("dk", given.dk);
  dv_ = place("dv", given.dv);
  copied_ = {{{place("dbias", given.dbias), &AttentionGrads::dbias},
              {place("dslope", given.dslope), &AttentionGrads::dslope},
              {place("dsink", given.dsink), &AttentionGrads::dsink},
              {place("dscale", given.dscale), &AttentionGrads::dscale}}};
}

AttentionGradRequest Gradients::request() const {
  return {.dq = dq_.into.given(),
          .dk = dk_.into.given(),
          .dv = dv_.into.given(),
          .dbias = copied_[0].place.into.given(),
          .dsink = copied_[2].place.into.given(),
          .dslope = copied_[1].place.into.given(),
          .dscale = copied_[3].place.into.given(),
          .dq_into = dq_.into,
          .dk_into = dk_.into,
          .dv_into = dv_.into};
}

void Gradients::check(const AttentionArgs& args, std::span<const Operand> given) const {
  if (std::ranges::none_of(copied_, [](const Copied& each) { return each.place.into.given(); }))
    return;
  const CheckedAttention checked(args);  // to know the shapes
  std::vector<Operand> taken = inputs(args);
  taken.insert(taken.end(), given.begin(), given.end());
  for (const Place* place : {&dq_, &dk_, &dv_}) taken.push_back(place->operand());
  const std::array<ConstView, 4> like = inputs_of(args);
  for (std::size_t i = 0; i < copied_.size(); ++i) {
    const Place& place = copied_[i].place;
    if (!place.into.given() || !like[i].given()) continue;
    check_fits(op_, place, like[i].shape(), like[i].dtype());
    check_memory(op_, place, taken);
    taken.push_back(place.operand());
  }
}

void Gradients::write(const AttentionGrads& grads) const {
  for (const auto& [place, from] : copied_)
    if (place.into.given()) copy_elements((grads.*from).view(), place.into);
}

}  // namespace heed::c

using heed::Operand;
using heed::c::attended_const_view;
using heed::c::attention_args;
using heed::c::Gradients;
using heed::c::view_of;

heed_status heed_attention_backward(const heed_attention_args* args, const heed_attended* attended,
                                    const heed_view* dout, const heed_view* dlse,
                                    const heed_gradients* into) {
  constexpr std::string_view kOp = "attention_backward";
  return heed::c::guarded([&] {
    const heed::AttentionArgs problem = attention_args(kOp, args);
    const heed::AttendedConstView left = attended_const_view(kOp, attended);
    const heed::View cotangent = view_of(kOp, "dout", dout);
    const Gradients gradients(kOp, into);
    heed::AttentionGradRequest request = gradients.request();
    request.dlse = view_of(kOp, "dlse", dlse);
    const std::array<Operand, 6> given = {{{"attended.out", left.out},
                                           {"attended.lse", left.lse},
                                           {"attended.lse_low", left.lse_low},
                                           {"attended.out_low", left.out_low},
                                           {"dout", cotangent},
                                           {"dlse", request.dlse}}};
    gradients.check(problem, given);
    gradients.write(heed::attention_backward(problem, left, cotangent, request));
  });
}

heed_status heed_observe_backward(const heed_attention_args* args, const heed_attended* attended,
                                  const heed_view* dentropy, const heed_view* dreceived,
                                  const heed_gradients* into) {
  constexpr std::string_view kOp = "observe_backward";
  return heed::c::guarded([&] {
    const heed::AttentionArgs problem = attention_args(kOp, args);
    const heed::AttendedConstView left = attended_const_view(kOp, attended);
    const heed::ObservedCotangents cotangents = {.dentropy = view_of(kOp, "dentropy", dentropy),
                                                 .dreceived = view_of(kOp, "dreceived", dreceived)};
    const Gradients gradients(kOp, into);
    const std::array<Operand, 4> given = {{{"attended.lse", left.lse},
                                           {"attended.lse_low", left.lse_low},
                                           {"dentropy", cotangents.dentropy},
                                           {"dreceived", cotangents.dreceived}}};
    gradients.check(problem, given);
    gradients.write(heed::observe_backward(problem, left, cotangents, gradients.request()));
  });
}

heed_status heed_plan_attention(const heed_attention_args* args, const heed_plan** plan) {
  return heed::c::planned(plan, "plan_attention", [&](std::string_view op) {
    return heed::plan_attention(heed::c::attention_args(op, args));
  });
}

heed_status heed_plan_attention_backward(const heed_attention_args* args,
                                         const heed_gradients* into, const heed_plan** plan) {
  return heed::c::planned(plan, "plan_attention_backward", [&](std::string_view op) {
    const heed::AttentionArgs problem = heed::c::attention_args(op, args);
    if (into == nullptr) return heed::plan_attention_backward(problem);
    return heed::plan_attention_backward(problem, heed::c::Gradients(op, into).request());
  });
}

void heed_plan_free(const heed_plan* plan) { delete static_cast<const heed::c::OwnedPlan*>(plan); }
