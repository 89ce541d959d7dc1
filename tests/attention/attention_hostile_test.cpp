// Whatever the arguments, the operator either accepts them or throws a heed::Error that names one:
// each field is set wrong alone, and many at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "heed/attention.h"
#include "heed/error.h"
#include "heed/mask.h"
#include "heed/observe.h"
#include "support/hostile.h"

namespace heed {
namespace {

using test::Memory;

Mask mask(Random& random, Memory& memory) {
  const ConstView pairs(nullptr, DType::kBool, Shape{3, 5});
  const ConstView ids(nullptr, DType::kI32, Shape{5});
  switch (random.below(6)) {
    case 0:
      return Mask::keep(memory.view(random, pairs));
    case 1:
      return Mask::segments(memory.view(random, ids), memory.view(random, ids));
    case 2:
      return Mask::blocks(memory.view(random, pairs), {.rows = 1, .keys = 1});
    case 3:
      return Mask::prefix(test::list(random));
    case 4:
      return Mask::edges(memory.view(random, ids), memory.view(random, ids));
    default:
      return Mask::band({.right = 0}) | Mask::keep(memory.view(random, pairs));
  }
}

struct Memories {
  Memory read, written;
};

// Everything that one of the calls takes.
struct Call {
  AttentionArgs args = {};
  AttendedView into = {};
  AttendedConstView attended = {};
  ConstView dout = {};
  AttentionGradRequest request = {};
  MergeArgs parts = {};
};

// A field by its name, as errors write it.
template <typename T>
struct Named {
  const char* name;
  T& (*of)(Call&);
};

constexpr Named<ConstView> kInputs[] = {
    {"q", [](Call& c) -> ConstView& { return c.args.q; }},
    {"keys.k", [](Call& c) -> ConstView& { return c.args.keys.k; }},
    {"keys.v", [](Call& c) -> ConstView& { return c.args.keys.v; }},
    {"keys.page_table", [](Call& c) -> ConstView& { return c.args.keys.page_table; }},
    {"keys.k_scales", [](Call& c) -> ConstView& { return c.args.keys.k_scales; }},
    {"keys.v_scales", [](Call& c) -> ConstView& { return c.args.keys.v_scales; }},
    {"scores.bias", [](Call& c) -> ConstView& { return c.args.scores.bias; }},
    {"scores.alibi", [](Call& c) -> ConstView& { return c.args.scores.alibi; }},
    {"scores.sink", [](Call& c) -> ConstView& { return c.args.scores.sink; }},
    {"attended.out", [](Call& c) -> ConstView& { return c.attended.out; }},
    {"attended.lse", [](Call& c) -> ConstView& { return c.attended.lse; }},
    {"attended.lse_low", [](Call& c) -> ConstView& { return c.attended.lse_low; }},
    {"attended.out_low", [](Call& c) -> ConstView& { return c.attended.out_low; }},
    {"dout", [](Call& c) -> ConstView& { return c.dout; }},
    {"dlse", [](Call& c) -> ConstView& { return c.request.dlse; }},
    {"a.out", [](Call& c) -> ConstView& { return c.parts.a.out; }},
    {"a.lse", [](Call& c) -> ConstView& { return c.parts.a.lse; }},
    {"a.lse_low", [](Call& c) -> ConstView& { return c.parts.a.lse_low; }},
    {"b.out", [](Call& c) -> ConstView& { return c.parts.b.out; }},
    {"b.lse", [](Call& c) -> ConstView& { return c.parts.b.lse; }},
    {"b.lse_low", [](Call& c) -> ConstView& { return c.parts.b.lse_low; }},
    {"sink", [](Call& c) -> ConstView& { return c.parts.sink; }},
};

constexpr Named<View> kOutputs[] = {
    {"out", [](Call& c) -> View& { return c.into.out; }},
    {"lse", [](Call& c) -> View& { return c.into.lse; }},
    {"lse_low", [](Call& c) -> View& { return c.into.lse_low; }},
    {"out_low", [](Call& c) -> View& { return c.into.out_low; }},
    {"dq_into", [](Call& c) -> View& { return c.request.dq_into; }},
    {"dk_into", [](Call& c) -> View& { return c.request.dk_into; }},
    {"dv_into", [](Call& c) -> View& { return c.request.dv_into; }},
};

using List = std::vector<std::int64_t>;
constexpr Named<List> kLists[] = {
    {"keys.ring_begin", [](Call& c) -> List& { return c.args.keys.ring_begin; }},
    {"extents.query_length", [](Call& c) -> List& { return c.args.extents.query_length; }},
    {"extents.key_begin", [](Call& c) -> List& { return c.args.extents.key_begin; }},
    {"extents.key_length", [](Call& c) -> List& { return c.args.extents.key_length; }},
    {"extents.q_offset", [](Call& c) -> List& { return c.args.extents.q_offset; }},
    {"extents.key_offset", [](Call& c) -> List& { return c.args.extents.key_offset; }},
    {"extents.query_starts", [](Call& c) -> List& { return c.args.extents.query_starts; }},
    {"extents.key_starts", [](Call& c) -> List& { return c.args.extents.key_starts; }},
};

struct Field {
  const char* name;
  std::function<void(Call&, Random&, Memories&)> spoil;
};

const std::vector<Field>& fields() {
  static const std::vector<Field> all = [] {
    std::vector<Field> list_of = {
        {"mask", [](Call& c, Random& r, Memories& m) { c.args.mask = mask(r, m.read); }},
        {"scores.scale", [](Call& c, Random& r,
                            auto&) { c.args.scores.scale = {test::number(r), test::number(r)}; }},
        {"scores.softcap",
         [](Call& c, Random& r, auto&) { c.args.scores.softcap = test::number(r); }},
        {"dropout.rate",
         [](Call& c, Random& r, auto&) { c.args.dropout = Dropout{.rate = test::number(r)}; }},
        {"kernel", [](Call& c, Random&, auto&) { c.args.kernel = "abacus"; }},
    };
    for (const auto& [name, of] : kInputs)
      list_of.push_back(
          {name, [of = of](Call& c, Random& r, Memories& m) { of(c) = m.read.view(r, of(c)); }});
    for (const auto& [name, of] : kOutputs)
      list_of.push_back(
          {name, [of = of](Call& c, Random& r, Memories& m) { of(c) = m.written.view(r, of(c)); }});
    for (const auto& [name, of] : kLists)
      list_of.push_back({name, [of = of](Call& c, Random& r, auto&) { of(c) = test::list(r); }});
    return list_of;
  }();
  return all;
}

// A legal problem with memory for its results: B 2, H 4, G 2, Tq 3, Tk 5, D 8, Dv 6; or packed, two
// sequences of 1 and 2 queries on 2 and 3 keys.
class Legal {
 public:
  explicit Legal(bool packed)
      : q_(Tensor::zeros(packed ? Shape{4, 3, 8} : Shape{2, 4, 3, 8})),
        k_(Tensor::zeros(packed ? Shape{2, 5, 8} : Shape{2, 2, 5, 8})),
        v_(Tensor::zeros(packed ? Shape{2, 5, 6} : Shape{2, 2, 5, 6})) {
    args_ = {.q = q_, .keys = {k_, v_}, .scores = {.bias = bias_, .alibi = four_, .sink = four_}};
    if (packed) args_.extents = {.query_starts = {0, 1, 3}, .key_starts = {0, 2, 5}};
    known_ = attention(args_);
    made_ = attention(args_);
    grads_ = attention_backward(args_, known_, known_.out);
  }

  Call call() {
    const AttendedConstView attended = {known_.out, known_.lse, known_.lse_low};
    return {.args = args_,
            .into = {made_.out, made_.lse, made_.lse_low},
            .attended = attended,
            .dout = known_.out,
            .request = {.dlse = known_.lse,
                        .dq_into = grads_.dq,
                        .dk_into = grads_.dk,
                        .dv_into = grads_.dv},
            .parts = {.a = attended, .b = attended, .sink = four_}};
  }

 private:
  Tensor bias_ = Tensor::zeros({1, 1});
  Tensor four_ = Tensor::zeros({4});
  Tensor q_, k_, v_;
  AttentionArgs args_;
  Attended known_, made_;
  AttentionGrads grads_;
};

void observe_all(const Call& call) {
  EntropyObserver entropy;
  ReceivedObserver received;
  Observer* const observers[] = {&entropy, &received};
  observe(call.args, call.attended, observers);
}

const std::vector<std::function<void(const Call&)>>& calls() {
  static const std::vector<std::function<void(const Call&)>> all = {
      [](const Call& c) { attention(c.args); },
      [](const Call& c) { attention(c.args, c.into); },
      [](const Call& c) { plan_attention(c.args); },
      [](const Call& c) { attention_backward(c.args, c.attended, c.dout, c.request); },
      [](const Call& c) { plan_attention_backward(c.args); },
      observe_all,
      [](const Call& c) { merge(c.parts); },
      [](const Call& c) { merge_backward(c.parts, c.attended, c.dout, c.request.dlse); },
  };
  return all;
}

// "keys.k.shape[3]" is part of "keys.k".
bool is_part_of(std::string_view argument, std::string_view field) {
  if (!argument.starts_with(field)) return false;
  return argument.size() == field.size() || argument[field.size()] == '.' ||
         argument[field.size()] == '[';
}

// Whether the error's argument is a field of the call, or a part of a mask.
bool names_an_argument(const Error& error) {
  constexpr std::string_view kOfMasks[] = {"keep",    "query_ids",  "key_ids", "layout",
                                           "lengths", "row_starts", "columns"};
  constexpr std::string_view kAsked[] = {"merged", "dq", "dk", "dv"};
  const auto names = [&](std::string_view field) { return is_part_of(error.argument(), field); };
  return std::ranges::any_of(kOfMasks, names) || std::ranges::any_of(kAsked, names) ||
         std::ranges::any_of(fields(), names, &Field::name);
}

// The error's text; empty if the call is accepted. Anything but a heed::Error is a failure.
std::string refusal(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    EXPECT_TRUE(names_an_argument(error)) << "names no argument: " << error.what();
    EXPECT_FALSE(error.op().empty()) << error.what();
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "no heed::Error: " << error.what();
    return error.what();
  }
}

// How many calls reject `legal` after these changes.
int refusals(Call call, std::span<const Field> changes, Random& random, Memories& memories) {
  int count = 0;
  const std::string spoiling = refusal([&] {  // a mask may be refused before it is used
    for (const Field& field : changes) field.spoil(call, random, memories);
  });
  if (!spoiling.empty()) return 1;
  for (const auto& one : calls()) count += refusal([&] { one(call); }).empty() ? 0 : 1;
  return count;
}

TEST(HostileArguments, TheLegalOnesAreServed) {
  Memories memories;
  Random random(1);
  for (const bool packed : {false, true})
    EXPECT_EQ(refusals(Legal(packed).call(), {}, random, memories), 0);
}

TEST(HostileArguments, EachFieldAloneIsServedOrRefusedByName) {
  Legal legal(false);
  Legal packed(true);
  Memories memories;
  for (std::size_t index = 0; index < fields().size(); ++index) {
    const Field& field = fields()[index];
    Random random(index);
    int count = 0;
    for (int draw = 0; draw < 60; ++draw) {
      count += refusals(legal.call(), {&field, 1}, random, memories);
      count += refusals(packed.call(), {&field, 1}, random, memories);
    }
    EXPECT_GT(count, 0) << field.name << " is never refused";
  }
}

TEST(HostileArguments, ManyAtOnceAreServedOrRefusedByName) {
  Legal legal(false);
  Legal packed(true);
  Memories memories;
  Random random(7);
  for (int draw = 0; draw < 8000; ++draw) {
    std::vector<Field> changes(2 + random.below(4));
    for (Field& field : changes) field = fields()[random.below(fields().size())];
    refusals(draw % 2 == 0 ? legal.call() : packed.call(), changes, random, memories);
  }
}

}  // namespace
}  // namespace heed
