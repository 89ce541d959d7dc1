// Attention whose result the library of the query allocates, in one call from Python: each further
// call costs 0.5 to 1 us of the 10 us for a short text.
#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "arrays.h"
#include "base/parallel.h"
#include "bind.h"
#include "computing.h"
#include "problem.h"

namespace heed::python {
namespace {

// The order of tokens and heads in the memory of `out`.
enum class Layout { kByHead, kByToken };

// The order of the query's memory, like in PyTorch's function.
Layout layout_of(const ConstView& q) {
  if (q.rank() != 4 || q.dim(1) == 1 || q.dim(2) == 1) return Layout::kByHead;
  return q.stride(1) < q.stride(2) ? Layout::kByToken : Layout::kByHead;
}

struct Made {
  nb::object tensor;
  Borrowed memory;
  bool is_swapped = false;  // the tensor is [B, Tq, H, Dv], the memory's view [B, H, Tq, Dv]

  nb::object by_head() const { return is_swapped ? tensor.attr("transpose")(1, 2) : tensor; }
};

// Work that ends before another Python thread could continue: keeps the GIL, and uses only this
// thread, since a mask's function may need the GIL.
bool is_short(const AttentionArgs& args) {
  constexpr std::int64_t kMultiplications = std::int64_t{1} << 17;  // about 5 us
  const ConstView &q = args.q, &k = args.keys.k;
  if (q.rank() != 4 || k.rank() != 4) return false;
  std::int64_t count = 2 * k.dim(2);
  for (int axis = 0; axis < 4 && count <= kMultiplications; ++axis) count *= q.dim(axis);
  return count <= kMultiplications && args.keys.v.rank() == 4 && args.keys.v.dim(3) <= q.dim(3);
}

template <typename Work>
void compute(const AttentionArgs& args, const Work& work) {
  if (!is_short(args)) return computing(work);
  const SerialScope alone;
  work();
}

// Allocates with q's library. `type` is PyTorch's name of the element type, if it differs from q's.
Made made_like(const nb::object& q, const ConstView& view, const Shape& shape,
               const char* type = nullptr) {
  static PyObject* const empty_like =
      nb::object(nb::module_::import_("torch").attr("empty_like")).release().ptr();
  Made made;
  if (type == nullptr && shape == view.shape() && view.is_contiguous()) {
    made.tensor = nb::steal(PyObject_CallOneArg(empty_like, q.ptr()));
    if (!made.tensor.is_valid()) throw nb::python_error();
  } else if (type == nullptr) {
    made.tensor = q.attr("new_empty")(shape_tuple(shape));
  } else {
    const nb::object dtype = nb::module_::import_("torch").attr(type);
    made.tensor = q.attr("new_empty")(shape_tuple(shape), nb::arg("dtype") = dtype);
  }
  made.memory = borrow_own(made.tensor);
  return made;
}

Made made_out(const Problem& problem, const nb::object& q, Layout layout) {
  std::optional<Shape> shape = out_shape(problem);
  if (!shape) return {.tensor = nb::none(), .memory = {}};
  const ConstView& view = problem.args.q;
  if (layout == Layout::kByHead || shape->rank() != 4) return made_like(q, view, *shape);
  std::swap((*shape)[1], (*shape)[2]);
  Made made = made_like(q, view, *shape);
  made.memory.view = made.memory.view.permute({0, 2, 1, 3});
  made.is_swapped = true;
  return made;
}

Made attended(const Problem& problem, const nb::object& q, Layout layout) {
  Made out = made_out(problem, q, layout);
  compute(problem.args,
          [&] { attention(problem.args, AttendedView{.out = out.memory.writable_view()}); });
  return out;
}

Problem problem_of(const nb::object& q, const nb::object& k, const nb::object& v,
                   const nb::object& settings) {
  Problem problem;
  read_arrays(problem, q, k, v, Hold::kCall);
  read_settings(problem, settings);
  return problem;
}

Layout layout_of(const Problem& problem, std::optional<bool> by_token) {
  if (!by_token) return layout_of(problem.args.q);
  return *by_token ? Layout::kByToken : Layout::kByHead;
}

nb::object attend_tensors(const nb::object& q, const nb::object& k, const nb::object& v,
                          const nb::object& settings, std::optional<bool> by_token) {
  const Problem problem = problem_of(q, k, v, settings);
  return attended(problem, q, layout_of(problem, by_token)).by_head();
}

nb::object empty_of_numpy(const nb::object& q, const Shape& shape) {
  static PyObject* const empty =
      nb::object(nb::module_::import_("numpy").attr("empty")).release().ptr();
  const nb::object dims = shape_tuple(shape);
  const nb::object type = q.attr("dtype");
  PyObject* const arguments[] = {dims.ptr(), type.ptr()};
  nb::object array = nb::steal(PyObject_Vectorcall(empty, arguments, 2, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  return array;
}

bool is_numpy(nb::handle object) {
  static PyObject* const array =
      nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  return object.type().is(array);
}

// Returns NotImplemented if the query is neither a NumPy array nor a PyTorch tensor.
nb::object attend(const nb::object& q, const nb::object& k, const nb::object& v,
                  const nb::object& settings) {
  const bool is_array = is_numpy(q);
  if (!is_array && !is_plain_tensor(q)) return nb::borrow(Py_NotImplemented);
  const Problem problem = problem_of(q, k, v, settings);
  if (!is_array) return attended(problem, q, Layout::kByHead).tensor;
  const std::optional<Shape> shape = out_shape(problem);
  if (!shape) return nb::borrow(Py_NotImplemented);  // the operator reports the mismatch
  nb::object out = empty_of_numpy(q, *shape);
  const Borrowed memory = borrow_output(out, "out");
  compute(problem.args,
          [&] { attention(problem.args, AttendedView{.out = memory.writable_view()}); });
  return out;
}

// Returns (out, lse, out_low), which the backward pass needs. lse is [2, B, H, Tq], the log-sum-exp
// and its rounding error; out_low is None unless q has 2 bytes.
nb::tuple attend_kept(const nb::object& q, const nb::object& k, const nb::object& v,
                      const nb::object& settings, std::optional<bool> by_token) {
  const Problem problem = problem_of(q, k, v, settings);
  const Made out = made_out(problem, q, layout_of(problem, by_token));
  const Shape& shape = out.memory.view.shape();
  if (shape.rank() != 4) attention(problem.args);  // reports the mismatch
  const bool is_narrow = size_bytes(problem.args.q.dtype()) == 2;
  const Shape rows = {2, shape[0], shape[1], shape[2]};
  const ConstView& view = problem.args.q;
  const Made lse = made_like(q, view, rows, is_narrow ? "float32" : nullptr);
  const Made out_low =
      is_narrow ? made_like(q, view, shape) : Made{.tensor = nb::none(), .memory = {}};
  const View both = lse.memory.writable_view();
  computing([&] {
    attention(problem.args,
              AttendedView{.out = out.memory.writable_view(),
                           .lse = both.select(0, 0),
                           .lse_low = both.select(0, 1),
                           .out_low = is_narrow ? out_low.memory.writable_view() : View()});
  });
  return nb::make_tuple(out.by_head(), lse.tensor, out_low.tensor);
}

// The gradient's memory, in its tensor's order if the operator can write to it.
View memory_for(const nb::object& of, nb::list& gradients) {
  gradients.append(nb::module_::import_("torch").attr("empty_like")(of));
  return borrow_own(gradients[nb::len(gradients) - 1]).writable_view();
}

// Tensors in the order of `of`. `kept` is the result of attend_kept.
nb::list attend_backward(const nb::object& q, const nb::object& k, const nb::object& v,
                         const nb::object& settings, const nb::tuple& kept, const nb::object& dout,
                         const nb::tuple& of) {
  const Problem problem = problem_of(q, k, v, settings);
  const Borrowed out = borrow(kept[0], "out");
  const Borrowed lse = borrow(kept[1], "lse");
  const Borrowed out_low = borrow(kept[2], "out_low");
  const Borrowed cotangent = borrow(dout, "dout");
  AttentionGradRequest request = gradient_request(of);
  nb::list gradients;
  if (request.dq) request.dq_into = memory_for(q, gradients);
  if (request.dk) request.dk_into = memory_for(k, gradients);
  if (request.dv) request.dv_into = memory_for(v, gradients);
  AttentionGrads found = computing([&] {
    return attention_backward(problem.args,
                              {.out = out.view,
                               .lse = lse.view.select(0, 0),
                               .lse_low = lse.view.select(0, 1),
                               .out_low = out_low.view},
                              cotangent.view, request);
  });
  const nb::object taken = nb::module_::import_("torch").attr("from_dlpack");
  if (request.dbias) gradients.append(taken(exported(std::move(found.dbias))));
  if (request.dsink) gradients.append(taken(exported(std::move(found.dsink))));
  return gradients;
}

// Everything that is the same in many calls: the layers of a model share a mask.
struct PreparedAttention {
  using Length = std::optional<std::int64_t>;
  Problem shared;
  Length queries, keys;  // none: any length
  bool ungrouped;        // key and value have the query's type and number of heads

  bool fits(const AttentionArgs& args) const {
    const ConstView &q = args.q, &k = args.keys.k, &v = args.keys.v;
    return q.rank() == 4 && k.rank() == 4 && v.rank() == 4 && q.dim(0) == k.dim(0) &&
           q.dim(3) > 0 && q.dim(2) == queries.value_or(q.dim(2)) &&
           k.dim(2) == keys.value_or(k.dim(2)) && (!ungrouped || is_ungrouped(q, k, v));
  }
  static bool is_ungrouped(const ConstView& q, const ConstView& k, const ConstView& v) {
    return q.dim(1) == k.dim(1) && q.dim(1) == v.dim(1) && q.dim(0) == v.dim(0) &&
           q.dtype() == k.dtype() && q.dtype() == v.dtype();
  }
};

// Returns None if it was prepared for other shapes.
nb::object attend_prepared(const PreparedAttention& prepared, const nb::object& q,
                           const nb::object& k, const nb::object& v, std::optional<double> scale,
                           bool by_token) {
  Problem problem = prepared.shared;
  read_arrays(problem, q, k, v, Hold::kCall);
  if (!prepared.fits(problem.args)) return nb::none();
  if (scale) problem.args.scores.scale = {*scale};
  if (by_token) return attended(problem, q, Layout::kByToken).tensor;
  return attended(problem, q, layout_of(problem.args.q)).by_head();
}

}  // namespace

void bind_attention_of_tensors(nb::module_& module) {
  const auto define = [&](const char* name, auto function, const char* help) {
    module.def(name, function, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(),
               nb::arg("settings"), nb::arg("by_token").none(), help);
  };
  module.def("attend", &attend, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(),
             nb::arg("settings"), "Out, of q's library; NotImplemented where that is another one.");
  define("attend_tensors", &attend_tensors,
         "[B, H, Tq, Dv]. `by_token`: its memory is [B, Tq, H, Dv]; None: as the query's is.");
  define("attend_kept", &attend_kept, "(out, lse [2, B, H, Tq], out_low or None)");
  module.def("attend_backward", &attend_backward, nb::arg("q"), nb::arg("k"), nb::arg("v"),
             nb::arg("settings"), nb::arg("kept"), nb::arg("dout"), nb::arg("of"),
             "The gradients by `of`, among q, k, v, bias and sink, in that order.");
  nb::class_<PreparedAttention>(module, "PreparedAttention")
      .def(
          "__init__",
          [](PreparedAttention* self, const nb::dict& settings, PreparedAttention::Length queries,
             PreparedAttention::Length keys, bool ungrouped) {
            Problem shared;
            read_settings(shared, settings);
            new (self) PreparedAttention{std::move(shared), queries, keys, ungrouped};
          },
          nb::arg("settings"), nb::arg("queries").none() = nb::none(),
          nb::arg("keys").none() = nb::none(), nb::arg("ungrouped") = false)
      .def("__call__", &attend_prepared, nb::arg("q").none(), nb::arg("k").none(),
           nb::arg("v").none(), nb::arg("scale").none(), nb::arg("by_token"),
           "[B, H, Tq, Dv], or [B, Tq, H, Dv]; None where it was prepared for other shapes.");
}

}  // namespace heed::python
