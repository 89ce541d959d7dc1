// Shared by the tests of C's questions.
#pragma once

#include <gtest/gtest.h>

#include <type_traits>

#include "c/cases.h"
#include "heed/observe.h"

namespace heed::test {

// Keys, heads, and a class of each key.
constexpr std::int64_t kChosen[] = {0, 5, 8};
constexpr std::int64_t kHeadsOfChosen[] = {0, 1, 3};
constexpr std::int64_t kClasses[] = {0, 1, -1, 0, 2, 1, 1, 0, 0, -1, 2, 2, 0};

// A causal problem with a sink, its weights and one question after the other.
class CObserve : public testing::Test {
 protected:
  CCase each = [] {
    CCase made = plain_case("observed");
    heed_mask* mask = nullptr;
    heed_mask_causal(&mask);
    made.set(Mask::causal(), mask);
    made.args.scores.sink = made.hold(random_tensor({4}, 6));
    return made;
  }();
  Attended left = attention(each.args);

  heed_status ask(heed_observation& asked) const {
    const heed_attention_args args = each.in_c();
    const heed_attended attended = as_c(left);
    const heed_observation* const pointer = &asked;
    return heed_observe(&args, &attended, &pointer, 1);
  }

  template <typename Kind>
  void expect(Kind&& wanted, Tensor std::remove_reference_t<Kind>::* answer, heed_observation asked,
              Tensor std::remove_reference_t<Kind>::* second = nullptr) {
    ValueNormObserver by_norm(wanted);
    Observer* const observer =
        asked.by_value_norm == 1 ? static_cast<Observer*>(&by_norm) : &wanted;
    observe(each.args, left, {&observer, 1});
    const Tensor found = room_like(wanted.*answer);
    asked.answer = as_c(found);
    const Tensor also = second == nullptr ? Tensor() : room_like(wanted.*second);
    if (second != nullptr) asked.second = as_c(also);
    EXPECT_EQ(ask(asked), HEED_OK) << heed_last_error()->message;
    EXPECT_TRUE(same_bits(found, wanted.*answer));
    if (second != nullptr) {
      EXPECT_TRUE(same_bits(also, wanted.*second));
    }
  }
};

}  // namespace heed::test
