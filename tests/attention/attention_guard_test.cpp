// No kernel reads or writes outside a tensor: inaccessible pages surround each of them.
#include <gtest/gtest.h>

#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/observe.h"
#include "support/every_kernel.h"
#include "support/guarded.h"
#include "support/key_forms.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::Edge;
using test::Guarded;
using test::random_tensor;

struct Sizes {
  std::int64_t queries, keys, dim, value_dim;
};

// All inputs of a problem, between guards.
struct Inputs {
  Inputs(const Sizes& n, DType dtype, Edge edge)
      : q(random_tensor({2, 4, n.queries, n.dim}, 1, dtype), edge),
        k(random_tensor({2, 2, n.keys, n.dim}, 2, dtype), edge),
        v(random_tensor({2, 2, n.keys, n.value_dim}, 3, dtype), edge),
        dout(random_tensor({2, 4, n.queries, n.value_dim}, 4, dtype), edge),
        bias(random_tensor({4, n.queries, n.keys}, 5), edge),
        kept(all_but_every_fifth(n), edge),
        heads(random_tensor({4}, 6), edge) {}

  static Tensor all_but_every_fifth(const Sizes& n) {
    Tensor kept = Tensor::empty({n.queries, n.keys}, DType::kBool);
    for (std::int64_t i = 0; i < kept.element_count(); ++i) kept.data<bool>()[i] = i % 5 != 0;
    return kept;
  }

  Guarded q, k, v, dout, bias, kept, heads;
};

void run(const AttentionArgs& args, const ConstView& dout, Edge edge, bool extended) {
  const Attended like = attention(args);
  const Guarded out(like.out, edge);
  const Guarded lse(like.lse, edge);
  const Guarded low(like.lse_low, edge);
  const Guarded rest(like.out_low, edge);
  const View out_low = like.out_low.given() ? rest.view() : View();
  attention(args, {out.view(), lse.view(), low.view(), out_low});
  EXPECT_TRUE(test::same_bits(out.view(), like.out));
  EXPECT_TRUE(!out_low.given() || test::same_bits(out_low, like.out_low));
  const Guarded dq(args.q, edge);
  const Guarded dk(args.keys.k, edge);
  const Guarded dv(args.keys.v, edge);
  attention_backward(args, AttendedConstView{out.view(), lse.view(), low.view(), out_low}, dout,
                     {.dbias = extended,
                      .dsink = extended,
                      .dslope = extended,
                      .dlse = lse.view(),
                      .dq_into = dq.view(),
                      .dk_into = dk.view(),
                      .dv_into = dv.view()});
  EntropyObserver entropy;
  Observer* const observers[] = {&entropy};
  observe(args, AttendedConstView{out.view(), lse.view(), low.view()}, observers);
}

TEST(GuardPages, NobodyReadsOrWritesBesideATensor) {
  const Sizes all[] = {
      {1, 1, 1, 1}, {3, 5, 7, 9}, {64, 64, 16, 32}, {65, 130, 33, 17}, {70, 63, 40, 24}};
  for (const Sizes& sizes : all)
    for (const Edge edge : {Edge::kBegin, Edge::kEnd})
      for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
        const Inputs inputs(sizes, dtype, edge);
        AttentionArgs plain = {.q = inputs.q.view(),
                               .keys = {inputs.k.view(), inputs.v.view()},
                               .mask = Mask::causal()};
        AttentionArgs extended = plain;
        extended.mask = Mask::keep(inputs.kept.view());
        extended.scores = {.softcap = 4,
                           .bias = inputs.bias.view(),
                           .alibi = inputs.heads.view(),
                           .sink = inputs.heads.view()};
        extended.dropout = Dropout{.rate = 0.1};
        test::for_every_kernel(
            plain, [&](const AttentionArgs& each) { run(each, inputs.dout.view(), edge, false); });
        test::for_every_kernel(extended, [&](const AttentionArgs& each) {
          run(each, inputs.dout.view(), edge, true);
        });
      }
}

// Keys between guards; those not given remain so.
struct GuardedKeys {
  GuardedKeys(const test::HeldKeys& held, Edge edge)
      : given(held.keys()),
        k(held.k, edge),
        v(held.v, edge),
        k_scales(held.k_scales, edge),
        v_scales(held.v_scales, edge),
        table(held.table, edge) {}

  Keys keys() const {
    Keys all = given;
    const auto guard = [](ConstView& view, const Guarded& memory) {
      if (view.given()) view = memory.view();
    };
    guard(all.k, k);
    guard(all.v, v);
    guard(all.k_scales, k_scales);
    guard(all.v_scales, v_scales);
    guard(all.page_table, table);
    return all;
  }

  Keys given;
  Guarded k, v, k_scales, v_scales, table;
};

void run_with(AttentionArgs args, const test::HeldKeys& held, const ConstView& dout, Edge edge) {
  const GuardedKeys keys(held, edge);
  args.keys = keys.keys();
  test::for_every_kernel(args, [&](const AttentionArgs& each) {
    const Attended attended = attention(each);
    const Guarded dq(each.q, edge);
    attention_backward(each, attended, dout, {.dk = false, .dv = false, .dq_into = dq.view()});
    EntropyObserver entropy;
    Observer* const observers[] = {&entropy};
    observe(each, attended, observers);
  });
}

TEST(GuardPages, NobodyReadsBesidePagesRingsAndScales) {
  const std::vector<std::int64_t> lengths = {67, 5};
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8})
    for (const Edge edge : {Edge::kBegin, Edge::kEnd})
      for (const std::int64_t dim : {7, 33, 64}) {
        const Guarded q(random_tensor({2, 4, 3, dim}, 1), edge);
        const Guarded dout(random_tensor({2, 4, 3, 17}, 4), edge);
        const test::HeldKeys held = test::held_as(random_tensor({2, 2, 67, dim}, 2),
                                                  random_tensor({2, 2, 67, 17}, 3), dtype);
        AttentionArgs args = {.q = q.view(), .mask = Mask::causal()};
        args.extents.key_length = lengths;
        run_with(args, held, dout.view(), edge);
        run_with(args, test::ring(held, 70, {65, 3}, lengths), dout.view(), edge);
        for (const std::int64_t size : {1, 5, 16})
          run_with(args, test::paged(held, size, lengths), dout.view(), edge);
      }
}

}  // namespace
}  // namespace heed
