// Answers C questions: maps each kind to its observer, which writes to the caller's memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attention/api/checked.h"
#include "base/wording.h"
#include "c/given.h"
#include "c/guard.h"
#include "c/problem.h"
#include "heed/c.h"
#include "heed/observe.h"
#include "heed/tensor.h"
#include "tensor/views.h"

namespace heed::c {
namespace {

// The observer that answers, and its members that hold the answers.
struct Asked {
  std::unique_ptr<Observer> observer = {};
  const Tensor* answer = nullptr;
  const Tensor* second = nullptr;  // null: the question has one answer
};

static_assert(HEED_VALUE_BEFORE_MASK == static_cast<int>(ObservedValue::kBeforeMask) &&
              HEED_POOL_SUM == static_cast<int>(Pool::kSum));

// One observation, and its name in messages.
struct Question {
  const std::string& name;
  const heed_observation& of;

  std::string field(const char* field) const { return fmt::format("{}.{}", name, field); }
};

template <typename Kind>
Asked asking(std::unique_ptr<Kind> observer, Tensor Kind::* answer,
             Tensor Kind::* second = nullptr) {
  const Tensor* const first = &((*observer).*answer);
  const Tensor* const other = second == nullptr ? nullptr : &((*observer).*second);
  return {std::move(observer), first, other};
}

// A question without settings.
template <typename Kind, Tensor Kind::* answer>
Asked plain(const Question&) {
  return asking(std::make_unique<Kind>(), answer);
}

Region region_of(const Question& question) {
  const heed_region& of = question.of.region;
  const auto last = [](std::int64_t end) { return end == 0 ? -1 : end; };
  return {of.head_begin,
          last(of.head_end),
          of.row_begin,
          last(of.row_end),
          of.key_begin,
          last(of.key_end),
          question.of.batch_begin,
          last(question.of.batch_end)};
}

ObservedValue value_of(const Question& question) {
  check_enumerator("observe", question.field("value"), question.of.value, 5,
                   "0 (weights) to 4 (before the mask)");
  return static_cast<ObservedValue>(question.of.value);
}

// The chosen rows or keys of the named heads.
template <Selection::Indices Selection::* axis>
Asked chosen(const Question& question) {
  Selection selection;
  selection.*axis = integers_of("observe", question.field("chosen"), question.of.chosen);
  auto heads = integers_of("observe", question.field("heads"), question.of.heads);
  if (!heads.empty()) selection.heads = std::move(heads);
  return asking(std::make_unique<SelectionObserver>(std::move(selection), value_of(question)),
                &SelectionObserver::values);
}

Asked region(const Question& question) {
  return asking(std::make_unique<SelectionObserver>(region_of(question), value_of(question)),
                &SelectionObserver::values);
}

Asked head_mean(const Question& question) {
  return asking(std::make_unique<HeadMeanObserver>(region_of(question)), &HeadMeanObserver::mean);
}

Asked heatmap(const Question& question) {
  check_enumerator("observe", question.field("pool"), question.of.pool, 3,
                   "0 (max), 1 (mean) or 2 (sum)");
  return asking(
      std::make_unique<HeatmapObserver>(question.of.height, question.of.width,
                                        static_cast<Pool>(question.of.pool), region_of(question)),
      &HeatmapObserver::cells);
}

Asked top_k(const Question& question) {
  return asking(std::make_unique<TopKObserver>(question.of.k), &TopKObserver::weights,
                &TopKObserver::keys);
}

Asked received(const Question& question) {
  check_flag("observe", question.field("sum_heads"), question.of.sum_heads);
  const auto heads = question.of.sum_heads == 1 ? OverHeads::kSum : OverHeads::kEach;
  return asking(std::make_unique<ReceivedObserver>(heads), &ReceivedObserver::received);
}

Asked mass(const Question& question) {
  const auto given = integers_of("observe", question.field("key_classes"), question.of.key_classes);
  std::vector<std::int32_t> classes(given.size());
  for (std::size_t key = 0; key < given.size(); ++key) {
    if (given[key] != static_cast<std::int32_t>(given[key]))
      fail("observe", question.field(fmt::format("key_classes[{}]", key).c_str()), given[key],
           fmt::format("-1 to {}", question.of.classes - 1));
    classes[key] = static_cast<std::int32_t>(given[key]);
  }
  return asking(std::make_unique<MassObserver>(std::move(classes), question.of.classes),
                &MassObserver::mass);
}

Asked offset_profile(const Question& question) {
  return asking(std::make_unique<OffsetProfileObserver>(question.of.first, question.of.last),
                &OffsetProfileObserver::mean, &OffsetProfileObserver::pairs);
}

struct Kind {
  std::int32_t number;
  Asked (*ask)(const Question& question);
};

constexpr Kind kKinds[] = {
    {HEED_OBSERVE_WEIGHTS, &plain<SelectionObserver, &SelectionObserver::values>},
    {HEED_OBSERVE_REGION, &region},
    {HEED_OBSERVE_ROWS, &chosen<&Selection::rows>},
    {HEED_OBSERVE_COLUMNS, &chosen<&Selection::keys>},
    {HEED_OBSERVE_HEATMAP, &heatmap},
    {HEED_OBSERVE_HEAD_MEAN, &head_mean},
    {HEED_OBSERVE_ENTROPY, &plain<EntropyObserver, &EntropyObserver::entropy>},
    {HEED_OBSERVE_ROW_MAX, &plain<RowMaxObserver, &RowMaxObserver::maximum>},
    {HEED_OBSERVE_TOP_K, &top_k},
    {HEED_OBSERVE_RECEIVED, &received},
    {HEED_OBSERVE_SINK, &plain<SinkObserver, &SinkObserver::share>},
    {HEED_OBSERVE_MASS, &mass},
    {HEED_OBSERVE_EXPECTED_DISTANCE,
     &plain<ExpectedDistanceObserver, &ExpectedDistanceObserver::distance>},
    {HEED_OBSERVE_OFFSET_PROFILE, &offset_profile}};

// `name` is the observation's name in messages: "observations[0]".
Asked ask(const std::string& name, const heed_observation& observation) {
  const auto* const kind = std::ranges::find(kKinds, observation.kind, &Kind::number);
  if (kind == std::ranges::end(kKinds))
    fail("observe", name + ".kind", observation.kind,
         fmt::format("{} (HEED_OBSERVE_WEIGHTS) to {} (HEED_OBSERVE_OFFSET_PROFILE)",
                     HEED_OBSERVE_WEIGHTS, HEED_OBSERVE_OFFSET_PROFILE));
  return kind->ask({name, observation});
}

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

// Forwards the sweep to its observer, checks the caller's memory as soon as the answers' shape is
// known, and copies the answers there at the end.
class Observation : public Observer {
 public:
  Observation(std::string name, const heed_observation* given);

  // Checks that the memory does not overlap `taken`, and adds it to `taken`.
  void check(std::vector<Operand>& taken) const;

  std::string_view name() const override { return shown().name(); }
  void begin(const ObservedShape& shape) override;
  RowSpan rows_needed(std::int64_t batch, std::int64_t head) const override {
    return shown().rows_needed(batch, head);
  }
  bool needs(const ObservedRows& rows) const override { return shown().needs(rows); }
  bool needs(const ObservedRows& rows, std::int64_t begin, std::int64_t end) const override {
    return shown().needs(rows, begin, end);
  }
  TileParts parts() const override { return shown().parts(); }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override {
    return shown().rows(rows);
  }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override {
    shown().tile(state, rows, tile);
  }
  void merge(State& state, const ObservedRows& rows) override { shown().merge(state, rows); }
  void finish() override;

 private:
  Observer& shown() const { return by_value_norm_ ? *by_value_norm_ : *asked_.observer; }

  std::string name_;
  Asked asked_;
  std::unique_ptr<Observer> by_value_norm_;
  Place answer_;
  Place second_;
};

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
