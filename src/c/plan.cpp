#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c/given.h"
#include "c/guard.h"
#include "c/problem.h"
#include "heed/c.h"

namespace heed::c {
namespace {

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
  OwnedPlan(const OwnedPlan&) = delete;
  OwnedPlan& operator=(const OwnedPlan&) = delete;

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
}  // namespace heed::c

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
