#include "c/observation.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "attention/api/checked.h"
#include "base/wording.h"
#include "c/given.h"
#include "c/guard.h"
#include "c/problem.h"
#include "heed/c.h"
#include "heed/observe.h"
#include "tensor/views.h"

namespace heed::c {
namespace {

// An observer names its own arguments; here they are fields of one observation.
std::string field_of(const ErrorParts& parts) {
  const std::string& argument = parts.argument.text();
  if (parts.op.text() == "region") return "region." + argument;
  if (parts.op.text() == "selection") return argument == "heads" ? "heads" : "chosen";
  if (argument == "weighted") return "by_value_norm";
  if (argument.starts_with("class_of_key")) return "key_classes" + argument.substr(12);
  return argument;
}

auto as_fields_of(const std::string& name, const auto& work) {
  return reworded(work, [&](ErrorParts& parts) {
    const std::string& argument = parts.argument.text();
    if (!argument.starts_with(name) && !argument.starts_with("scores."))
      parts.argument = name + "." + field_of(parts);
  });
}

constexpr std::string_view kOp = "observe";
constexpr std::int64_t kMostObservations = 4096;

std::vector<std::unique_ptr<Observation>> read(const heed_observation* const* given,
                                               std::int64_t count) {
  if (count < 0 || count > kMostObservations)
    fail(kOp, "count", count, fmt::format("0 to {}", kMostObservations));
  if (count > 0) require_pointer(kOp, "observations", given);
  std::vector<std::unique_ptr<Observation>> observations;
  for (std::int64_t i = 0; i < count; ++i)
    observations.push_back(
        std::make_unique<Observation>(fmt::format("observations[{}]", i), given[i]));
  return observations;
}

void run(const AttentionArgs& args, const AttendedConstView& attended,
         const std::vector<std::unique_ptr<Observation>>& observations) {
  std::vector<Operand> taken = inputs(args);
  taken.push_back({"attended.lse", attended.lse});
  taken.push_back({"attended.lse_low", attended.lse_low});
  std::vector<Observer*> observers;
  for (const auto& observation : observations) {
    observation->check(taken);
    observers.push_back(observation.get());
  }
  observe(args, attended, observers);
}

}  // namespace

Observation::Observation(std::string name, const heed_observation* given) : name_(std::move(name)) {
  const auto observation = given_struct("observe", name_, given);
  check_reserved("observe", name_ + ".reserved", observation.reserved);
  check_flag("observe", name_ + ".by_value_norm", observation.by_value_norm);
  answer_ = {name_ + ".answer", view_of("observe", name_ + ".answer", observation.answer)};
  second_ = {name_ + ".second", view_of("observe", name_ + ".second", observation.second)};
  asked_ = as_fields_of(name_, [&] { return ask(name_, observation); });
  if (observation.by_value_norm == 1)
    by_value_norm_ = std::make_unique<ValueNormObserver>(*asked_.observer);
}

void Observation::check(std::vector<Operand>& taken) const {
  if (!answer_.into.given()) fail("observe", answer_.name, {}, "memory for the answer");
  if (second_.into.given() && asked_.second == nullptr)
    fail("observe", second_.name, "given", fmt::format("none ({} has one answer)", name()));
  for (const Place* place : {&answer_, &second_}) {
    if (!place->into.given()) continue;
    check_memory("observe", *place, taken);
    taken.push_back(place->operand());
  }
}

void Observation::begin(const ObservedShape& shape) {
  as_fields_of(name_, [&] { shown().begin(shape); });
  check_fits("observe", answer_, asked_.answer->shape(), asked_.answer->dtype());
  if (second_.into.given())
    check_fits("observe", second_, asked_.second->shape(), asked_.second->dtype());
}

void Observation::finish() {
  shown().finish();
  copy_elements(*asked_.answer, answer_.into);
  if (second_.into.given()) copy_elements(*asked_.second, second_.into);
}

}  // namespace heed::c

heed_status heed_observe(const heed_attention_args* args, const heed_attended* attended,
                         const heed_observation* const* observations, int64_t count) {
  using namespace heed::c;
  return guarded([&] {
    const heed::AttentionArgs problem = attention_args(kOp, args);
    const heed::AttendedConstView left = attended_const_view(kOp, attended);
    run(problem, left, read(observations, count));
  });
}
