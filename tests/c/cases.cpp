#include "c/cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace heed::test {
namespace {

// The mask that a function of C makes.
template <typename... Given, typename... Args>
heed_mask* made(heed_status (*make)(Given...), Args... args) {
  heed_mask* mask = nullptr;
  EXPECT_EQ(make(args..., &mask), HEED_OK) << heed_last_error()->message;
  return mask;
}

CCase with_edges() {
  CCase each = plain_case("edges");
  Tensor starts = Tensor::empty({10}, DType::kI64);
  Tensor columns = Tensor::empty({18}, DType::kI32);
  for (std::int64_t i = 0; i < 10; ++i) starts.data<std::int64_t>()[i] = 2 * i;
  for (std::int32_t i = 0; i < 18; ++i) columns.data<std::int32_t>()[i] = i / 2 + i % 2 * 3;
  const ConstView from = each.hold(std::move(starts));
  const ConstView to = each.hold(std::move(columns));
  const heed_view from_c = as_c(from);
  const heed_view to_c = as_c(to);
  each.set(Mask::edges(from, to), made(heed_mask_edges, &from_c, &to_c));
  return each;
}

CCase with_tables() {
  CCase each = plain_case("blocks or keep, and a band");
  Tensor kept = Tensor::converted(random_tensor({9, 13}, 11), DType::kF32);
  Tensor table = Tensor::empty({4, 9, 13}, DType::kBool);
  for (std::int64_t i = 0; i < table.element_count(); ++i)
    table.data<bool>()[i] = kept.data<float>()[i % 117] > 0;
  Tensor layout = Tensor::zeros({3, 4}, DType::kU8);
  for (std::int64_t i = 0; i < 12; i += 5) layout.data<std::uint8_t>()[i] = 1;
  const ConstView table_view = each.hold(std::move(table));
  const ConstView layout_view = each.hold(std::move(layout));
  const heed_view table_c = as_c(table_view);
  const heed_view layout_c = as_c(layout_view);
  const HeldMask keeps(made(heed_mask_keep, &table_c));
  const HeldMask blocked(made(heed_mask_blocks, &layout_c, std::int64_t{4}, std::int64_t{4}));
  const HeldMask window(made(heed_mask_band, std::int64_t{7}, std::int64_t{2}));
  const HeldMask either(made(heed_mask_or, static_cast<const heed_mask*>(keeps.get()),
                             static_cast<const heed_mask*>(blocked.get())));
  each.set((Mask::keep(table_view) | Mask::blocks(layout_view, {.rows = 4, .keys = 4})) &
               Mask::band({.left = 7, .right = 2}),
           made(heed_mask_and, static_cast<const heed_mask*>(either.get()),
                static_cast<const heed_mask*>(window.get())));
  return each;  // the parts are freed here
}

CCase with_segments() {
  CCase each = plain_case("segments");
  const ConstView queries = each.hold(random_ids({2, 9}, 3, 12));
  const ConstView keys = each.hold(random_ids({13}, 3, 13));
  const heed_view queries_c = as_c(queries);
  const heed_view keys_c = as_c(keys);
  each.set(Mask::segments(queries, keys), made(heed_mask_segments, &queries_c, &keys_c));
  return each;
}

CCase with_prefix() {
  CCase each = plain_case("causal or prefix");
  const std::vector<std::int64_t> lengths = {3, 6};
  const HeldMask first(made(heed_mask_prefix, lengths.data(), std::int64_t{2}));
  const HeldMask before(made(heed_mask_causal));
  each.set(Mask::causal() | Mask::prefix(lengths),
           made(heed_mask_or, static_cast<const heed_mask*>(before.get()),
                static_cast<const heed_mask*>(first.get())));
  return each;
}

CCase causal_case(std::string name, DType dtype = DType::kF32) {
  CCase each = plain_case(std::move(name), dtype);
  each.set(Mask::causal(), made(heed_mask_causal));
  return each;
}

CCase with_scores() {
  CCase each = causal_case("scale, softcap, bias, ALiBi, sink");
  each.args.scores.scale = {0.5, 0.25, 1.0, 2.0};
  each.args.scores.softcap = 3;
  each.args.scores.bias = each.hold(random_tensor({4, 9, 13}, 4, DType::kF64));
  each.args.scores.alibi = each.hold(random_tensor({4}, 5));
  each.args.scores.sink = each.hold(random_tensor({4}, 6, DType::kF16));
  return each;
}

CCase with_similarity(const char* name, Similarity similarity, Normaliser normaliser) {
  CCase each = causal_case(name);
  each.args.scores.similarity = similarity;
  each.args.scores.normaliser = normaliser;
  return each;
}

CCase with_extents() {
  CCase each = causal_case("padding on both sides, positions, dropout");
  each.args.extents = {.query_length = {9, 4},
                       .key_begin = {0, 3},
                       .key_length = {13, 7},
                       .q_offset = {6, 2},
                       .key_offset = {1}};
  each.args.dropout = Dropout{.rate = 0.25, .seed = 0x123456789ABCDEF, .offset = 3};
  return each;
}

CCase packed_case() {
  CCase each{.name = "packed"};
  each.args.q = each.hold(random_tensor({4, 12, 8}, 1));
  each.args.keys.k = each.hold(random_tensor({2, 15, 8}, 2));
  each.args.keys.v = each.hold(random_tensor({2, 15, 6}, 3));
  each.args.extents = {.query_starts = {0, 3, 12}, .key_starts = {0, 8, 15}};
  return each;
}

// In pages or a ring; in 8 bits.
CCase with_keys(const char* name, DType dtype, bool in_pages) {
  CCase each = plain_case(name);
  const HeldKeys held =
      held_as(random_tensor({2, 2, 13, 8}, 2), random_tensor({2, 2, 13, 6}, 3), dtype);
  const std::vector<std::int64_t> lengths = {13, 10};
  each.keys = in_pages ? paged(held, 4, lengths) : ring(held, 16, {3, 15}, lengths);
  each.args.keys = each.keys.keys();
  each.args.extents.key_length = lengths;
  return each;
}

}  // namespace

std::vector<CCase> c_cases() {
  std::vector<CCase> all;
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16})
    all.push_back(causal_case("causal, " + std::string(name(dtype)), dtype));
  all.push_back(plain_case("everyone"));
  all.push_back(with_edges());
  all.push_back(with_tables());
  all.push_back(with_segments());
  all.push_back(with_prefix());
  all.push_back(with_scores());
  all.push_back(with_similarity("cosine", Similarity::kCosine, Normaliser::kSoftmax));
  all.push_back(with_similarity("Gaussian", Similarity::kGaussian, Normaliser::kSoftmax));
  all.push_back(with_similarity("absolute", Similarity::kAbsolute, Normaliser::kSoftmax));
  all.push_back(with_similarity("sigmoid", Similarity::kDot, Normaliser::kSigmoid));
  all.push_back(with_similarity("none", Similarity::kDot, Normaliser::kNone));
  all.push_back(with_extents());
  all.push_back(packed_case());
  all.push_back(with_keys("pages", DType::kF16, true));
  all.push_back(with_keys("a ring of 8 bits", DType::kI8, false));
  all.push_back(causal_case("the reference"));
  all.back().args.kernel = "reference";
  return all;
}

}  // namespace heed::test
