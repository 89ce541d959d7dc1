// The products that heed bench matmul times.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/choose_cases.h"
#include "bench/matmul_bench.h"

namespace heed {
namespace {

using Product = MatmulBenchCase::Product;

struct Layer {
  std::int64_t in, out;
};

// Each shape once; a head is the widest.
constexpr Layer kLayers[] = {
    // GPT-2 small: q, k and v together; out; the MLP; the head
    {768, 2304},
    {768, 768},
    {768, 3072},
    {3072, 768},
    {768, 50257},
    // Llama, 110 M: the MLP and the head; its other layers are GPT-2's
    {768, 2048},
    {2048, 768},
    {768, 32000},
    // Llama, 1.1 B: q and out; k and v; the MLP; the head
    {2048, 2048},
    {2048, 256},
    {2048, 5632},
    {5632, 2048},
    {2048, 32000},
};

void add_packed(std::vector<MatmulBenchCase>& cases) {
  for (const auto& [in, out] : kLayers) {
    std::vector<MatmulBenchCase> of_layer;
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
      of_layer.push_back({.product = Product::kPacked, .in = in, .out = out, .dtype = dtype});
    for (const char* const type : {"Q4_0", "Q8_0", "Q4_K", "Q6_K", "IQ4_NL", "MXFP4"}) {
      of_layer.push_back(
          {.product = Product::kPacked, .in = in, .out = out, .blocks = block_type_named(type)});
      of_layer.push_back(of_layer.back());
      of_layer.back().by_bytes = true;
    }
    for (MatmulBenchCase& one : of_layer)
      for (const std::int64_t rows : {1, 8, 512}) {
        one.rows = rows;
        one.name = fmt::format("{}x{}-r{}-{}{}", in, out, rows, one.weight_type(),
                               one.by_bytes ? "-q8" : "");
        cases.push_back(one);
      }
  }
}

void add_plain(std::vector<MatmulBenchCase>& cases) {
  struct Trained {
    std::int64_t rows, in, out;
  };
  for (const auto& [rows, in, out] :
       {Trained{384, 128, 384}, Trained{384, 128, 128}, Trained{384, 128, 512},
        Trained{384, 512, 128}, Trained{512, 768, 3072}})
    for (const auto& [name, product] : {std::pair{"forward", Product::kForward},
                                        {"dinput", Product::kInputGradient},
                                        {"dweight", Product::kWeightGradient}})
      cases.push_back({fmt::format("{}-{}x{}", name, in, out), product, rows, in, out});
}

}  // namespace

std::vector<MatmulBenchCase> matmul_bench_cases(const std::vector<std::string>& names) {
  std::vector<MatmulBenchCase> cases;
  add_packed(cases);
  add_plain(cases);
  return choose_cases(cases, names);
}

}  // namespace heed
