#include "c/observation.h"

#include <fmt/format.h>

#include <utility>

#include "base/wording.h"
#include "c/given.h"
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
