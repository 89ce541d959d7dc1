#include "heed/cases/attention_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "heed/base/philox.h"
#include "heed/masks/keep.h"

namespace heed {
namespace {

Tensor normal(const Shape& shape, DType dtype, double spread, std::uint32_t stream) {
  Random random(2024, stream);
  Tensor tensor = Tensor::empty(shape, DType::kF64);
  for (std::int64_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<double>()[i] = spread * random.normal();
  return Tensor::converted(tensor, dtype);
}

// Two of three are kept, in stretches, so that there are empty, partial and full tiles; row 1 sees
// nobody.
Tensor kept_stretches(const AttentionCase& problem) {
  Tensor kept =
      Tensor::empty({problem.batch, 1, problem.query_length, problem.key_length}, DType::kBool);
  Random random(2024, 9);
  bool keep = true;
  for (std::int64_t i = 0; i < kept.element_count(); ++i) {
    if (random.below(40) == 0) keep = random.below(3) != 0;
    const std::int64_t row = i / std::max<std::int64_t>(problem.key_length, 1) %
                             std::max<std::int64_t>(problem.query_length, 1);
    kept.data<bool>()[i] = keep && row != 1;
  }
  return kept;
}

// [B, heads, T, D] as a view of memory in the case's order.
ConstView as_heads(const Tensor& tensor, Layout layout) {
  return layout == Layout::kHeads ? tensor.view() : tensor.view().permute({0, 2, 1, 3});
}

Shape stored(Layout layout, std::int64_t batch, std::int64_t heads, std::int64_t length,
             std::int64_t columns) {
  if (layout == Layout::kHeads) return {batch, heads, length, columns};
  return {batch, length, heads, columns};
}

std::string mask_name(const AttentionCase& problem) {
  const std::string band = fmt::format("{},{}", problem.band.left, problem.band.right);
  switch (problem.mask) {
    case CaseMask::kNone:
      return "everyone";
    case CaseMask::kBand:
      return "band " + band;
    case CaseMask::kKeep:
      return "keep";
    case CaseMask::kBandAndKeep:
      return "band " + band + " & keep";
    case CaseMask::kBandOrKeep:
      return "band " + band + " | keep";
  }
  return {};
}

std::vector<AttentionCase> shapes() {
  std::vector<AttentionCase> cases;
  for (const std::int64_t length : {1, 2, 3, 63, 64, 65, 100, 257}) {
    cases.push_back(
        {.query_length = length, .key_length = length, .head_dim = 16, .value_dim = 16});
    cases.push_back({.query_length = 5, .key_length = length, .head_dim = 8, .value_dim = 24});
    cases.push_back({.query_length = length, .key_length = 7, .head_dim = 33, .value_dim = 1});
  }
  for (const std::int64_t size : {1, 2, 15, 17, 64, 80, 128})
    cases.push_back({.batch = 2,
                     .heads = 2,
                     .kv_heads = 2,
                     .query_length = 70,
                     .key_length = 90,
                     .head_dim = size,
                     .value_dim = size + 3});
  for (const std::int64_t kv_heads : {1, 2, 3, 6})
    cases.push_back({.batch = 2,
                     .heads = 6,
                     .kv_heads = kv_heads,
                     .query_length = 40,
                     .key_length = 75,
                     .head_dim = 20,
                     .value_dim = 20});
  return cases;
}

std::vector<AttentionCase> zero_extents() {
  const AttentionCase one = {.batch = 1,
                             .heads = 2,
                             .kv_heads = 2,
                             .query_length = 3,
                             .key_length = 4,
                             .head_dim = 5,
                             .value_dim = 6};
  std::vector<AttentionCase> cases(6, one);
  cases[0].batch = 0;
  cases[1].heads = 0;
  cases[2].heads = cases[2].kv_heads = 0;
  cases[3].query_length = 0;
  cases[4].key_length = 0;
  cases[5].value_dim = 0;
  return cases;
}

std::vector<AttentionCase> masked() {
  std::vector<AttentionCase> cases;
  const AttentionCase base = {.batch = 2,
                              .heads = 4,
                              .kv_heads = 2,
                              .query_length = 150,
                              .key_length = 170,
                              .head_dim = 16,
                              .value_dim = 16};
  for (const CaseMask mask :
       {CaseMask::kBand, CaseMask::kKeep, CaseMask::kBandAndKeep, CaseMask::kBandOrKeep})
    for (const Band& sides : {Band{-1, 0}, Band{20, 0}, Band{9, 70}, Band{0, 0}, Band{-1, 100}}) {
      AttentionCase problem = base;
      problem.mask = mask;
      problem.band = sides;
      cases.push_back(problem);
      if (mask == CaseMask::kKeep) break;
    }
  return cases;
}

std::vector<AttentionCase> placed() {
  const AttentionCase base = {.batch = 3,
                              .heads = 4,
                              .kv_heads = 2,
                              .query_length = 100,
                              .key_length = 130,
                              .head_dim = 16,
                              .value_dim = 16,
                              .mask = CaseMask::kBand,
                              .band = {-1, 0}};
  std::vector<AttentionCase> cases(7, base);
  cases[0].extents.q_offset = {0};  // top-left
  cases[1].extents.q_offset = {-40, 3, 64};
  cases[2].extents.query_length = {100, 0, 37};
  cases[3].extents.key_length = {130, 1, 66};
  cases[4].extents = {
      .query_length = {90, 65, 1}, .key_begin = {40, 0, 7}, .key_length = {90, 0, 100}};
  cases[5].extents = {.q_offset = {1000}, .key_offset = {950, 990, 1200}};
  cases[6].extents = {.query_length = {50}, .key_begin = {30}};
  cases[6].band = {25, 3};
  return cases;
}

std::vector<AttentionCase> laid_out() {
  const AttentionCase base = {.batch = 2,
                              .heads = 4,
                              .kv_heads = 2,
                              .query_length = 77,
                              .key_length = 77,
                              .head_dim = 24,
                              .value_dim = 24,
                              .mask = CaseMask::kBand,
                              .band = {-1, 0}};
  std::vector<AttentionCase> cases(4, base);
  cases[0].layout = Layout::kTokens;
  cases[1].layout = Layout::kInterleaved;
  cases[2].spread = 30;     // sharp: one key takes nearly all
  cases[3].spread = 0.001;  // flat
  return cases;
}

void name_it(AttentionCase& problem) {
  const char* layouts[] = {"", " tokens", " interleaved"};
  problem.name = fmt::format(
      "{} B{} H{} G{} Tq{} Tk{} D{} Dv{} {}{}{}{}", name(problem.dtype), problem.batch,
      problem.heads, problem.kv_heads, problem.query_length, problem.key_length, problem.head_dim,
      problem.value_dim, mask_name(problem), layouts[static_cast<int>(problem.layout)],
      problem.spread == 1 ? "" : fmt::format(" spread {}", problem.spread),
      problem.extents.query_length.empty() && problem.extents.key_length.empty() &&
              problem.extents.q_offset.empty()
          ? ""
          : " extents");
}

}  // namespace

double AttentionCase::tolerance() const {
  const double epsilon = dtype == DType::kF64 ? 0x1p-52 : 0x1p-23;
  const std::int64_t rows_of_a_key = query_length * heads / std::max<std::int64_t>(kv_heads, 1);
  const auto terms = static_cast<double>(head_dim + value_dim + key_length + rows_of_a_key);
  return epsilon * std::max(1.0, spread) * (4 + std::sqrt(terms));
}

AttentionInputs::AttentionInputs(const AttentionCase& problem) {
  const auto& [name, dtype, B, H, G, Tq, Tk, D, Dv, mask, sides, extents, layout, spread] = problem;
  if (layout == Layout::kInterleaved) {
    memory_.push_back(normal({B, Tq, H + 2 * G, D}, dtype, 1, 1));
    const ConstView all = as_heads(memory_[0], layout);
    args.q = all.slice(1, 0, H);
    args.keys = {all.slice(1, H, H + G), all.slice(1, H + G, H + 2 * G)};
  } else {
    memory_.push_back(normal(stored(layout, B, H, Tq, D), dtype, spread, 1));
    memory_.push_back(normal(stored(layout, B, G, Tk, D), dtype, 1, 2));
    memory_.push_back(normal(stored(layout, B, G, Tk, Dv), dtype, 1, 3));
    args.q = as_heads(memory_[0], layout);
    args.keys = {as_heads(memory_[1], layout), as_heads(memory_[2], layout)};
  }
  dout = normal({B, H, Tq, Dv}, dtype, 1, 4);
  dlse = normal({B, H, Tq}, dtype, 1, 5);
  memory_.push_back(kept_stretches(problem));
  const Mask kept = keep(memory_.back());
  if (mask == CaseMask::kBand) args.mask = band(sides);
  if (mask == CaseMask::kKeep) args.mask = kept;
  if (mask == CaseMask::kBandAndKeep) args.mask = band(sides) & kept;
  if (mask == CaseMask::kBandOrKeep) args.mask = band(sides) | kept;
  args.extents = extents;
}

std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> cases;
  for (const auto& group : {shapes(), zero_extents(), masked(), placed(), laid_out()})
    for (const DType dtype : {DType::kF32, DType::kF64})
      for (AttentionCase problem : group) {
        problem.dtype = dtype;
        name_it(problem);
        cases.push_back(problem);
      }
  return cases;
}

}  // namespace heed
