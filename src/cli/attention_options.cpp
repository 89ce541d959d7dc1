#include "cli/attention_options.h"

#include <algorithm>

#include "cli/arguments.h"
#include "heed/base/error.h"
#include "heed/io/npy.h"
#include "heed/masks/band.h"
#include "heed/masks/keep.h"

namespace heed::cli {
namespace {

std::optional<DType> named_dtype(const std::string& name) {
  if (name.empty()) return {};
  const auto* found = std::ranges::find(kDTypes, name, &DTypeInfo::name);
  return found->dtype;
}

// One entry a batch, or one for all.
std::vector<std::int64_t> read_lengths(const std::string& path) {
  if (path.empty()) return {};
  const Tensor array = read_npy(path);
  require(array.rank() <= 1 && (array.dtype() == DType::kI64 || array.dtype() == DType::kI32),
          "{}: found {} of {}, expected a list of i64 or i32, one a batch", path,
          to_string(array.shape()), name(array.dtype()));
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < array.element_count(); ++i)
    lengths.push_back(array.dtype() == DType::kI64 ? array.data<std::int64_t>()[i]
                                                   : array.data<std::int32_t>()[i]);
  return lengths;
}

Mask mask_of(const AttentionOptions& options) {
  Mask mask;
  if (!options.causal.empty()) mask = mask & causal();
  if (!options.window.empty())
    mask = mask & band({.left = options.window[0], .right = options.window[1]});
  return mask;
}

// Refuses what pairs, offsets and bytes could not count.
void check_shape(const std::vector<std::int64_t>& shape) {
  constexpr const char* kNames[] = {"B", "H", "G", "Tq", "Tk", "D", "Dv"};
  constexpr double kMost = 0x1p62;
  for (std::size_t i = 0; i < shape.size(); ++i)
    require(shape[i] >= 0, "--shape: {} is {}, expected at least 0", kNames[i], shape[i]);
  const auto extent = [&shape](std::size_t i) { return static_cast<double>(shape[i]); };
  const double heads = extent(0) * (extent(1) + extent(2));
  const double pairs = heads * extent(3) * extent(4);
  require(pairs < kMost, "--shape: there are {:.3g} pairs of query and key, expected below 2^62",
          pairs);
  const double bytes = 8 * heads * (extent(3) + extent(4)) * (extent(5) + extent(6) + 2);
  require(bytes < kMost, "--shape: the arrays have {:.3g} bytes, expected below 2^62", bytes);
}

// What does not depend on the data of q, k and v.
void read_settings(const AttentionOptions& options, AttentionProblemData& problem) {
  AttentionArgs& args = problem.args;
  args.mask = mask_of(options);
  if (!options.keep.empty()) {
    problem.keep = read_npy(options.keep);
    args.mask = args.mask & keep(problem.keep.view());
  }
  require(options.causal.empty() || options.q_offset.empty(),
          "--causal {} and --q-offset both say where query 0 stands, expected one of them "
          "(--window -1,0 is causal too)",
          options.causal);
  args.extents.query_length = read_lengths(options.query_lengths);
  args.extents.key_length = read_lengths(options.key_lengths);
  args.extents.key_begin = read_lengths(options.key_begin);
  args.extents.q_offset = read_lengths(options.q_offset);
  if (options.causal == "top-left") args.extents.q_offset = {0};
  if (options.scale) args.scores.scale = {*options.scale};
  args.kernel = options.kernel;
}

}  // namespace

void add_attention_options(CLI::App& app, AttentionOptions& options) {
  app.add_option("--causal", options.causal,
                 "no key behind the query: bottom-right (the last query sees every key) or "
                 "top-left (the first query sees the first key)")
      ->check(one_of({"top-left", "bottom-right"}));
  add_number(app, "--window", options.window,
             "keys left and right of the own one that may be seen; -1 is open")
      ->delimiter(',')
      ->expected(2)
      ->type_name("L,R");
  app.add_option("--keep", options.keep,
                 "true where a query may attend; broadcast to [B, H, Tq, Tk]")
      ->type_name("FILE.npy");
  app.add_option("--query-lengths", options.query_lengths, "queries of each batch")
      ->type_name("FILE.npy");
  app.add_option("--key-lengths", options.key_lengths, "keys of each batch")->type_name("FILE.npy");
  app.add_option("--key-begin", options.key_begin, "where each batch's keys begin (left padding)")
      ->type_name("FILE.npy");
  app.add_option("--q-offset", options.q_offset, "position of query 0 of each batch")
      ->type_name("FILE.npy");
  add_number(app, "--scale", options.scale, "of q . k (default: 1 / sqrt(D))")->type_name("X");
  app.add_option("--dtype", options.dtype, "compute in this type (default: that of Q)")
      ->check(one_of({"f64", "f32"}));
  app.add_option("--kernel", options.kernel, "run this kernel and no other")->type_name("NAME");
}

Tensor read_array(const std::string& path, int rank, const std::string& dtype) {
  Tensor array = read_npy(path);
  require(rank == 0 || array.rank() == rank, "{}: rank is {}, expected {} as Q has", path,
          array.rank(), rank);
  const DType wanted = named_dtype(dtype).value_or(array.dtype());
  if (wanted != array.dtype()) return Tensor::converted(array.view(), wanted);
  return array;
}

ConstView lifted(const Tensor& array) {
  Shape shape = {1, 1, 1, 1};
  const int missing = 4 - array.rank();
  for (int axis = 0; axis < array.rank(); ++axis) shape[axis + missing] = array.shape()[axis];
  return array.view().reshape(shape);
}

ConstView lowered(const Tensor& array, int rank) {
  ConstView view = array.view();
  for (int i = rank; i < 4; ++i) view = view.select(0, 0);
  return view;
}

AttentionProblemData read_problem(const AttentionOptions& options) {
  AttentionProblemData problem;
  problem.q = read_array(options.q, 0, options.dtype);
  problem.rank = problem.q.rank();
  require(problem.rank >= 2 && problem.rank <= 4,
          "{}: shape is {}, expected [B, H, T, D], [H, T, D] or [T, D]", options.q,
          to_string(problem.q.shape()));
  problem.k = read_array(options.k, problem.rank, options.dtype);
  problem.v = read_array(options.v, problem.rank, options.dtype);
  read_settings(options, problem);
  problem.args.q = lifted(problem.q);
  problem.args.keys = {.k = lifted(problem.k), .v = lifted(problem.v)};
  return problem;
}

AttentionProblemData shape_problem(const AttentionOptions& options,
                                   const std::vector<std::int64_t>& shape) {
  check_shape(shape);
  AttentionProblemData problem;
  const DType dtype = named_dtype(options.dtype).value_or(DType::kF32);
  read_settings(options, problem);
  const auto view = [&](std::int64_t heads, std::int64_t length, std::int64_t dim) {
    return ConstView(nullptr, dtype, Shape{shape[0], heads, length, dim});
  };
  problem.args.q = view(shape[1], shape[3], shape[5]);
  problem.args.keys = {.k = view(shape[2], shape[4], shape[5]),
                       .v = view(shape[2], shape[4], shape[6])};
  return problem;
}

}  // namespace heed::cli
