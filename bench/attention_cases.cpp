#include "bench/attention_cases.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace heed {
namespace {

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
  for (const CaseMask mask :
       {CaseMask::kPrefix, CaseMask::kSegments, CaseMask::kBlocks, CaseMask::kEdges}) {
    cases.push_back(base);
    cases.back().mask = mask;
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
  std::vector<AttentionCase> cases(6, base);
  cases[4].layout = cases[5].layout = Layout::kPacked;
  cases[5].key_length = 140;
  cases[5].mask = CaseMask::kKeep;
  cases[0].layout = Layout::kTokens;
  cases[1].layout = Layout::kInterleaved;
  cases[2].spread = 30;     // sharp: one key gets nearly all weight
  cases[3].spread = 0.001;  // flat
  return cases;
}

// Every form of score, alone and combined.
std::vector<CaseScores> score_kinds() {
  return {{.similarity = Similarity::kCosine, .scale_a_head = true},
          {.similarity = Similarity::kGaussian, .bias = {4, 1, 1}},
          {.similarity = Similarity::kAbsolute, .sink = true},
          {.softcap = 3},
          {.bias = {2, 4, 100, 130}},
          {.bias = {100, 130}},
          {.bias = {2, 1, 1, 130}, .sink = true},
          {.bias = {4, 100, 1}, .dropout = 0.25},
          {.bias = {1}},
          {.alibi = true},
          {.sink = true, .scale_a_head = true},
          {.scale_a_head = true},
          {.normaliser = Normaliser::kSigmoid, .bias = {130}},
          {.normaliser = Normaliser::kNone, .softcap = 2, .dropout = 0.5},
          {.dropout = 0.1},
          {.similarity = Similarity::kCosine,
           .softcap = 5,
           .bias = {4, 100, 130},
           .alibi = true,
           .sink = true,
           .scale_a_head = true,
           .dropout = 0.3}};
}

std::vector<AttentionCase> scored() {
  const AttentionCase base = {.batch = 2,
                              .heads = 4,
                              .kv_heads = 2,
                              .query_length = 100,
                              .key_length = 130,
                              .head_dim = 12,
                              .value_dim = 20,
                              .mask = CaseMask::kBand,
                              .band = {80, 0}};
  std::vector<AttentionCase> cases;
  for (const CaseScores& scores : score_kinds()) {
    cases.push_back(base);
    cases.back().scores = scores;
    cases.push_back(cases.back());
    cases.back().mask = CaseMask::kBandAndKeep;
    cases.back().extents = {
        .query_length = {90, 65}, .key_begin = {40, 7}, .key_length = {90, 100}};
  }
  return cases;
}

std::vector<AttentionCase> mixed_types() {
  AttentionCase one = {.batch = 2,
                       .heads = 2,
                       .kv_heads = 1,
                       .query_length = 90,
                       .key_length = 90,
                       .head_dim = 24,
                       .value_dim = 24,
                       .mask = CaseMask::kBand,
                       .band = {-1, 0}};
  std::vector<AttentionCase> cases;
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    one.dtype = dtype;
    one.kv_dtype = {};
    cases.push_back(one);
    one.dtype = DType::kF32;
    one.kv_dtype = dtype;
    cases.push_back(one);
    one.dtype = DType::kF64;
    cases.push_back(one);
  }
  return cases;
}

// Keys as in caches: a chunk of queries at the end of 150 and of 97 keys, and a single query.
std::vector<AttentionCase> cached() {
  AttentionCase one = {.batch = 2,
                       .heads = 4,
                       .kv_heads = 2,
                       .key_length = 150,
                       .head_dim = 40,
                       .value_dim = 24,
                       .mask = CaseMask::kBand,
                       .extents = {.key_length = {150, 97}}};
  std::vector<AttentionCase> cases;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16})
    for (const CaseKeys keys : {CaseKeys::kRows, CaseKeys::kPages, CaseKeys::kRing})
      for (const DType kv_dtype : {dtype, DType::kF16, DType::kI8})
        for (const std::int64_t queries : {1, 70}) {
          if (keys == CaseKeys::kRows && kv_dtype != DType::kI8)
            continue;  // other cases have
                       // these
          one.dtype = dtype;
          one.keys = keys;
          one.kv_dtype = kv_dtype;
          one.query_length = queries;
          one.band = {.left = keys == CaseKeys::kRing ? 60 : -1, .right = 0};
          cases.push_back(one);
        }
  return cases;
}

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-52;
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

}  // namespace

double AttentionCase::tolerance() const {
  const double epsilon = std::max(epsilon_of(dtype), epsilon_of(kv_dtype.value_or(dtype)));
  const std::int64_t rows_of_a_key = query_length * heads / std::max<std::int64_t>(kv_heads, 1);
  const auto terms = static_cast<double>(head_dim + value_dim + key_length + rows_of_a_key);
  return epsilon * std::max(1.0, spread) * (4 + std::sqrt(terms));
}

std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> cases = mixed_types();
  std::ranges::copy(cached(), std::back_inserter(cases));
  for (const auto& group : {shapes(), zero_extents(), masked(), placed(), laid_out(), scored()})
    for (const DType dtype : {DType::kF32, DType::kF64})
      for (AttentionCase problem : group) {
        problem.dtype = dtype;
        cases.push_back(problem);
      }
  for (AttentionCase& problem : cases) problem.name = case_name(problem);
  return cases;
}

}  // namespace heed
