// The f32 matrix product by oneDNN (2.6.3); the only file that knows oneDNN.
//
// A primitive is made once for each shape and kept. With AVX-512 oneDNN's brgemm sums each element
// over k in one order, whatever the other rows. Without it the blocking depends on the number of
// rows and threads, so products whose rows must not depend on each other are cut into blocks of one
// fixed size, each on one thread.
#include "kernels/matmul.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "heed/base/threads.h"

namespace heed::kernels {
namespace {

constexpr std::int64_t kBlockRows = 64;      // a block and its part of b stay in a 256 KiB cache
constexpr std::int64_t kBlockColumns = 256;  // for k up to 200
constexpr std::size_t kMostPrimitives = 1024;

using Key = std::array<std::int64_t, 11>;

Key key_of(const MatmulProblem<float>& p, int threads) {
  return {p.rows,
          p.columns,
          p.inner,
          p.a.row,
          p.a.column,
          p.b.row,
          p.b.column,
          p.out_row,
          static_cast<std::int64_t>(p.bias != nullptr),
          static_cast<std::int64_t>(p.accumulate),
          threads};
}

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

struct Product {
  dnnl::memory::desc a, b, bias, out;
  dnnl::matmul primitive;
};

std::shared_ptr<const Product> make_product(const MatmulProblem<float>& p) {
  using dnnl::memory;
  constexpr auto kF32 = memory::data_type::f32;
  auto product = std::make_shared<Product>();
  product->a = memory::desc({p.rows, p.inner}, kF32, {p.a.row, p.a.column});
  product->b = memory::desc({p.inner, p.columns}, kF32, {p.b.row, p.b.column});
  product->out = memory::desc({p.rows, p.columns}, kF32, {p.out_row, 1});
  dnnl::primitive_attr attributes;
  if (p.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  if (p.bias != nullptr) product->bias = memory::desc({1, p.columns}, kF32, {p.columns, 1});
  const dnnl::matmul::desc description =
      p.bias != nullptr ? dnnl::matmul::desc(product->a, product->b, product->bias, product->out)
                        : dnnl::matmul::desc(product->a, product->b, product->out);
  product->primitive =
      dnnl::matmul(dnnl::matmul::primitive_desc(description, attributes, engine()));
  return product;
}

std::shared_ptr<const Product> find_product(const MatmulProblem<float>& p, int threads) {
  static std::mutex guard;
  static std::map<Key, std::shared_ptr<const Product>> products;
  const std::scoped_lock lock(guard);
  const Key key = key_of(p, threads);
  const auto found = products.find(key);
  if (found != products.end()) return found->second;
  if (products.size() >= kMostPrimitives) products.clear();  // texts of every length were seen
  return products.emplace(key, make_product(p)).first->second;
}

void run_product(const MatmulProblem<float>& p) {
  const int threads = omp_in_parallel() != 0 ? 1 : thread_count();
  if (omp_in_parallel() == 0) omp_set_num_threads(threads);  // a setting of the calling thread
  const auto product = find_product(p, threads);
  thread_local dnnl::stream stream(engine());
  const auto memory = [](const dnnl::memory::desc& desc, const float* data) {
    return dnnl::memory(desc, engine(), const_cast<float*>(data));
  };
  std::unordered_map<int, dnnl::memory> arguments = {
      {DNNL_ARG_SRC, memory(product->a, p.a.data)},
      {DNNL_ARG_WEIGHTS, memory(product->b, p.b.data)},
      {DNNL_ARG_DST, memory(product->out, p.out)}};
  if (p.bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, memory(product->bias, p.bias));
  product->primitive.execute(stream, arguments);
}

// The last block is padded to the size of the others, so that every row goes through the same code.
void run_padded(MatmulProblem<float> p) {
  const std::int64_t rows = p.rows;
  std::vector<float> a(static_cast<std::size_t>(kBlockRows * p.inner));
  std::vector<float> out(static_cast<std::size_t>(kBlockRows * p.columns));
  const auto row_bytes = static_cast<std::size_t>(p.columns) * sizeof(float);
  for (std::int64_t i = 0; i < rows; ++i) {
    std::memcpy(&a[static_cast<std::size_t>(i * p.inner)], p.a.data + i * p.a.row,
                static_cast<std::size_t>(p.inner) * sizeof(float));
    std::memcpy(&out[static_cast<std::size_t>(i * p.columns)], p.out + i * p.out_row, row_bytes);
  }
  float* const wanted = p.out;
  const std::int64_t wanted_row = p.out_row;
  p.rows = kBlockRows;
  p.a = {.data = a.data(), .row = p.inner, .column = 1};
  p.out = out.data();
  p.out_row = p.columns;
  run_product(p);
  for (std::int64_t i = 0; i < rows; ++i)
    std::memcpy(wanted + i * wanted_row, &out[static_cast<std::size_t>(i * p.columns)], row_bytes);
}

void run_blocks(const MatmulProblem<float>& p) {
  const std::int64_t row_blocks = (p.rows + kBlockRows - 1) / kBlockRows;
  const std::int64_t column_blocks = (p.columns + kBlockColumns - 1) / kBlockColumns;
  parallel_for(row_blocks * column_blocks, [&](std::int64_t index, int /*thread*/) {
    const std::int64_t row = index / column_blocks * kBlockRows;
    const std::int64_t column = index % column_blocks * kBlockColumns;
    MatmulProblem<float> block = p;
    block.rows = std::min(kBlockRows, p.rows - row);
    block.columns = std::min(kBlockColumns, p.columns - column);
    block.a.data += row * p.a.row;
    block.b.data += column * p.b.column;
    if (p.bias != nullptr) block.bias += column;
    block.out += row * p.out_row + column;
    block.rows == kBlockRows ? run_product(block) : run_padded(block);
  });
}

}  // namespace

void matmul_onednn(const MatmulProblem<float>& problem) {
  static const bool has_brgemm = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
  const bool rows_are_independent = problem.a.column == 1;
  if (has_brgemm || !rows_are_independent) {
    run_product(problem);
  } else {
    run_blocks(problem);
  }
}

}  // namespace heed::kernels
