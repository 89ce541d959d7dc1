// The f32 matrix product by oneDNN (2.6.3); the only file that knows oneDNN. Those in bulk
// go by matmul_amx.cpp where the CPU can.
//
// A primitive is made once for each shape and kept; each thread keeps its arguments too, so that a
// call only sets pointers. Scratch memory is the thread's own: oneDNN's belongs to the thread that
// made the primitive.
//
// Measured on one core of a Xeon (249 GFLOP/s of FMA; 384 rows, widths of 128 to 512) with operands
// in the second-level cache and, in brackets, in the third, where training finds most of them:
// x W 224 to 235 (200 to 215) GFLOP/s, dy W^T 215 to 220 (185 to 209), x^T dy 208 to 212 (179 to
// 193). Tried there: a kernel of our own, 6 x 64 tiles over panels packed once a product, with and
// without prefetching: on the whole 3 % behind, cold as warm. x^T dy that writes where it is the
// first, so that gradients need no clearing: 0.3 % of a training step. Nothing: the gradient that a
// product adds to, its output or its weights prefetched before it. Operands that lie in oneDNN's
// own blocks would give x W 3 to 5 %, dy W^T 6 % and x^T dy 7 to 13 %, but bringing x^T there costs
// what oneDNN's copy does, and weights serve two products a step.
//
// Products are cut into blocks, each of which oneDNN computes on one thread of ours. With AVX-512
// its brgemm, which takes matrices without gaps alone, sums each element over k in one order,
// whatever the block. Without it the order depends on the block, whose size is then fixed where
// rows must not depend on each other.
#include "kernels/matmul.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/parallel.h"
#include "heed/base/threads.h"
#include "kernels/cpu/thread_memory.h"

namespace heed::kernels {
namespace {

constexpr std::int64_t kBlockRows = 64;      // a block and its part of b stay in a 256 KiB cache
constexpr std::int64_t kBlockColumns = 256;  // for k up to 200
constexpr std::size_t kMostPrimitives = 1024;

using Key = std::array<std::int64_t, 10>;

Key key_of(const MatmulProblem<float>& p) {
  return {p.rows,
          p.columns,
          p.inner,
          p.a.row,
          p.a.column,
          p.b.row,
          p.b.column,
          p.out_row,
          static_cast<std::int64_t>(p.bias != nullptr),
          static_cast<std::int64_t>(p.accumulate)};
}

// oneDNN computes on one thread while this lives. Debian's asks OpenMP how many it may take, which
// is a setting of each thread: the host's own comes back. Where oneDNN was built without OpenMP
// there is nothing to set.
class OneThread {
 public:
  OneThread() {
    const auto& [get, set] = open_mp();
    if (get != nullptr && set != nullptr && (before_ = get()) != 1) set(1);
  }
  ~OneThread() {
    if (before_ > 1) open_mp().set(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  struct OpenMp {
    int (*get)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    void (*set)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  };
  static const OpenMp& open_mp() {
    static const OpenMp functions;
    return functions;
  }
  int before_ = 1;
};

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

struct Product {
  dnnl::memory::desc a, b, bias, out, scratch;
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
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (p.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  if (p.bias != nullptr) product->bias = memory::desc({1, p.columns}, kF32, {p.columns, 1});
  const dnnl::matmul::desc description =
      p.bias != nullptr ? dnnl::matmul::desc(product->a, product->b, product->bias, product->out)
                        : dnnl::matmul::desc(product->a, product->b, product->out);
  const dnnl::matmul::primitive_desc chosen(description, attributes, engine());
  product->scratch = chosen.scratchpad_desc();
  product->primitive = dnnl::matmul(chosen);
  return product;
}

std::shared_ptr<const Product> find_product(const MatmulProblem<float>& p, const Key& key) {
  static std::mutex& guard = *[] {
    auto* const made = new std::mutex;
    hold_across_fork(*made);
    return made;
  }();
  static std::map<Key, std::shared_ptr<const Product>> products;
  const std::scoped_lock lock(guard);
  const auto found = products.find(key);
  if (found != products.end()) return found->second;
  if (products.size() >= kMostPrimitives) products.clear();  // texts of every length were seen
  return products.emplace(key, make_product(p)).first->second;
}

// A product with one thread's arguments.
class Call {
 public:
  explicit Call(std::shared_ptr<const Product> product) : product_(std::move(product)) {
    add(DNNL_ARG_SRC, product_->a);
    add(DNNL_ARG_WEIGHTS, product_->b);
    add(DNNL_ARG_DST, product_->out);
    add(DNNL_ARG_SCRATCHPAD, product_->scratch);
    if (!product_->bias.is_zero()) add(DNNL_ARG_BIAS, product_->bias);
  }

  void run(const MatmulProblem<float>& p) {
    thread_local dnnl::stream stream(engine());
    thread_local ThreadMemory scratch;
    const auto bytes = static_cast<std::int64_t>(product_->scratch.get_size());
    set(DNNL_ARG_SRC, p.a.data);
    set(DNNL_ARG_WEIGHTS, p.b.data);
    set(DNNL_ARG_DST, p.out);
    set(DNNL_ARG_SCRATCHPAD, scratch.at_least(bytes));
    if (p.bias != nullptr) set(DNNL_ARG_BIAS, p.bias);
    product_->primitive.execute(stream, arguments_);
  }

 private:
  void add(int argument, const dnnl::memory::desc& desc) {
    arguments_.emplace(argument, dnnl::memory(desc, engine(), DNNL_MEMORY_NONE));
  }
  void set(int argument, const float* data) {
    arguments_.at(argument).set_data_handle(const_cast<float*>(data));
  }

  std::shared_ptr<const Product> product_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

void run_product(const MatmulProblem<float>& p) {
  const OneThread alone;
  thread_local std::map<Key, Call> calls;
  const Key key = key_of(p);
  auto found = calls.find(key);
  if (found == calls.end()) {
    if (calls.size() >= kMostPrimitives) calls.clear();
    found = calls.emplace(key, find_product(p, key)).first;
  }
  found->second.run(p);
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

// The extents of a block.
struct Cut {
  std::int64_t rows;
  std::int64_t columns;
};

// brgemm takes matrices without gaps alone: a part of the rows of a^T is brought together, and so
// are a part of the columns of out where it has several rows.
void run_together(MatmulProblem<float> p) {
  thread_local ThreadMemory memory;
  const bool copies_a = p.a.column != 1;
  const bool copies_out = p.out_row != p.columns && p.rows > 1;
  const std::int64_t a_floats = copies_a ? p.inner * p.rows : 0;
  const std::int64_t out_floats = copies_out ? p.rows * p.columns : 0;
  float* const a = memory.at_least((a_floats + out_floats) * std::int64_t{sizeof(float)});
  for (std::int64_t k = 0; copies_a && k < p.inner; ++k)
    std::copy_n(p.a.data + k * p.a.column, p.rows, a + k * p.rows);
  if (copies_a) p.a = {.data = a, .row = 1, .column = p.rows};
  MatmulProblem<float> together = p;
  together.out_row = p.columns;
  if (copies_out) together.out = a + a_floats;
  const auto row = [&](std::int64_t i) { return together.out + i * p.columns; };
  for (std::int64_t i = 0; copies_out && p.accumulate && i < p.rows; ++i)
    std::copy_n(p.out + i * p.out_row, p.columns, row(i));
  run_product(together);
  for (std::int64_t i = 0; copies_out && i < p.rows; ++i)
    std::copy_n(row(i), p.columns, p.out + i * p.out_row);
}

// For brgemm: one block where the product is short. Else rows, up to two blocks for each thread, so
// that the other one goes on where a thread is held up. Each block brings b into order for itself:
// 10 % of its time where it has 128 rows, half where it has 32, so fewer rows are cut by the
// columns of b^T. A part of the columns of b would be a copy, which takes as long as 64 rows: one
// block.
Cut cut_for_brgemm(const MatmulProblem<float>& p) {
  constexpr std::int64_t kShort = std::int64_t{1} << 20;  // multiplications: 10 us
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kGoodRows = 256;
  const std::int64_t threads = threads_here();
  if (threads == 1 || p.rows * p.columns * p.inner < kShort) return {p.rows, p.columns};
  const auto part = [](std::int64_t extent, std::int64_t parts) {
    return ((extent + parts - 1) / parts + kLine - 1) / kLine * kLine;
  };
  if (p.rows >= 2 * kLine)
    return {part(p.rows, std::clamp(p.rows / kGoodRows, threads, 2 * threads)), p.columns};
  return {p.rows, p.b.row == 1 ? part(p.columns, 2 * threads) : p.columns};
}

// Without brgemm.
Cut cut_for_gemm(const MatmulProblem<float>& p) {
  if (p.a.column == 1) return {kBlockRows, kBlockColumns};
  return {p.rows, (p.columns + threads_here() - 1) / threads_here()};
}

template <typename Run>
void run_blocks(const MatmulProblem<float>& p, const Cut& cut, const Run& run) {
  const std::int64_t row_blocks = (p.rows + cut.rows - 1) / cut.rows;
  const std::int64_t column_blocks = (p.columns + cut.columns - 1) / cut.columns;
  parallel_for(row_blocks * column_blocks, [&](std::int64_t index, int /*thread*/) {
    const std::int64_t row = index / column_blocks * cut.rows;
    const std::int64_t column = index % column_blocks * cut.columns;
    MatmulProblem<float> block = p;
    block.rows = std::min(cut.rows, p.rows - row);
    block.columns = std::min(cut.columns, p.columns - column);
    block.a.data += row * p.a.row;
    block.b.data += column * p.b.column;
    if (p.bias != nullptr) block.bias += column;
    block.out += row * p.out_row + column;
    run(block);
  });
}

}  // namespace

void matmul_onednn(const MatmulProblem<float>& problem) {
  static const bool has_brgemm = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
  const bool rows_are_independent = problem.a.column == 1;
  if (has_brgemm) {
    run_blocks(problem, cut_for_brgemm(problem), [&](const MatmulProblem<float>& block) {
      const bool has_gaps =
          block.columns < problem.columns || (block.rows < problem.rows && !rows_are_independent);
      has_gaps ? run_together(block) : run_product(block);
    });
  } else {
    run_blocks(problem, cut_for_gemm(problem), [&](const MatmulProblem<float>& block) {
      rows_are_independent&& block.rows < kBlockRows ? run_padded(block) : run_product(block);
    });
  }
}

}  // namespace heed::kernels
