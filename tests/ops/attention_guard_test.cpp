// No kernel reads or writes beside a tensor: pages that nobody may touch stand on both sides of
// every one.
#include <gtest/gtest.h>

#include "heed/masks/band.h"
#include "heed/masks/keep.h"
#include "heed/ops/attention.h"
#include "heed/ops/observe.h"
#include "heed/ops/observers/entropy.h"
#include "support/every_kernel.h"
#include "support/guarded.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::Edge;
using test::Guarded;
using test::random_tensor;

struct Sizes {
  std::int64_t queries, keys, dim, value_dim;
};

// Everything that a problem reads, between guards.
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
  attention(args, {out.view(), lse.view(), low.view()});
  EXPECT_TRUE(test::same_bits(out.view(), like.out));
  const Guarded dq(args.q, edge);
  const Guarded dk(args.keys.k, edge);
  const Guarded dv(args.keys.v, edge);
  attention_backward(args, AttendedConstView{out.view(), lse.view(), low.view()}, dout,
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
        AttentionArgs plain = {
            .q = inputs.q.view(), .keys = {inputs.k.view(), inputs.v.view()}, .mask = causal()};
        AttentionArgs extended = plain;
        extended.mask = keep(inputs.kept.view());
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

}  // namespace
}  // namespace heed
