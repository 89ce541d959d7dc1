// Maps each kind of question to its observer.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "c/given.h"
#include "c/observation.h"
#include "heed/observe.h"

namespace heed::c {
namespace {

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

}  // namespace

Asked ask(const std::string& name, const heed_observation& observation) {
  const auto* const kind = std::ranges::find(kKinds, observation.kind, &Kind::number);
  if (kind == std::ranges::end(kKinds))
    fail("observe", name + ".kind", observation.kind,
         fmt::format("{} (HEED_OBSERVE_WEIGHTS) to {} (HEED_OBSERVE_OFFSET_PROFILE)",
                     HEED_OBSERVE_WEIGHTS, HEED_OBSERVE_OFFSET_PROFILE));
  return kind->ask({name, observation});
}

}  // namespace heed::c
