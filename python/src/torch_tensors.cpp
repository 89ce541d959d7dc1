#include <algorithm>
#include <array>
#include <utility>

#include "arrays.h"
#include "errors.h"

namespace heed::python {
namespace {

// Calls a method without arguments; false if the object does not have it.
bool says(nb::handle object, PyObject* name) {
  PyObject* const self = object.ptr();
  const nb::object answer = nb::steal(PyObject_VectorcallMethod(name, &self, 1, nullptr));
  if (!answer.is_valid()) PyErr_Clear();
  return answer.ptr() == Py_True;
}

// A look-up in a module's dictionary takes 20 ns, a Python call 100 ns.
bool in_forward_mode() {
  static PyObject* const module = nb::module_::import_("torch.autograd.forward_ad").release().ptr();
  static PyObject* const name = PyUnicode_InternFromString("_current_level");
  PyObject* const level = PyDict_GetItem(PyModule_GetDict(module), name);
  return level != nullptr && PyLong_AsLong(level) >= 0;
}

void check_tangent(const char* argument, nb::handle object) {
  const nb::object unpack = nb::module_::import_("torch.autograd.forward_ad").attr("unpack_dual");
  if (unpack(object).attr("tangent").is_none()) return;
  fail({.argument = argument,
        .found = "a tensor with a forward-mode tangent",
        .expected = "one without, since the tangent would be lost",
        .hint = "call heed.torch.scaled_dot_product_attention"});
}

// Whether the memory has the opposite sign: the imaginary part of a conjugate view.
bool holds_negatives(nb::handle object) {
  static PyObject* const name = PyUnicode_InternFromString("is_neg");
  return says(object, name);
}

// Whether a PyTorch core function without arguments returns something other than None and 0.
bool is_set(nb::handle function) {
  const nb::object answer = nb::steal(PyObject_CallNoArgs(function.ptr()));
  if (!answer.is_valid()) throw nb::python_error();
  return PyObject_IsTrue(answer.ptr()) != 0;
}

// Whether PyTorch records or transforms operators, which would miss heed's functions.
bool is_traced() {
  static const std::array<PyObject*, 3> functions = [] {
    const nb::object core = nb::module_::import_("torch").attr("_C");
    return std::array<PyObject*, 3>{
        nb::object(core.attr("_get_tracing_state")).release().ptr(),
        nb::object(core.attr("_functorch").attr("peek_interpreter_stack")).release().ptr(),
        nb::object(core.attr("_len_torch_dispatch_stack")).release().ptr()};
  }();
  return std::ranges::any_of(functions, [](PyObject* each) { return is_set(each); });
}

// Whether __torch_function__ is PyTorch's own, which computes with the memory.
bool is_default_function(nb::handle type) {
  const nb::object function = nb::getattr(type, "__torch_function__", nb::none());
  const nb::module_ torch = nb::module_::import_("torch");
  if (function.is(torch.attr("_C").attr("_disabled_torch_function_impl"))) return true;
  return nb::getattr(function, "__func__", nb::none())
      .is(torch.attr("Tensor").attr("__torch_function__").attr("__func__"));
}

}  // namespace

bool is_plain_tensor(nb::handle object) {
  static PyObject* type = nullptr;  // none before PyTorch is imported
  if (type == nullptr) {
    const nb::object torch =
        nb::getattr(nb::module_::import_("sys").attr("modules"), "get")("torch");
    if (torch.is_none()) return false;
    type = nb::object(torch.attr("Tensor")).release().ptr();
  }
  return object.type().is(type) && !is_traced();
}

bool is_lazy_zero(nb::handle object) {
  static PyObject* const name = PyUnicode_InternFromString("_is_zerotensor");
  return says(object, name);
}

nb::object values_of(const char* argument, nb::object object) {
  if (in_forward_mode()) check_tangent(argument, object);
  return holds_negatives(object) ? object.attr("resolve_neg")() : std::move(object);
}

nb::object as_output(const char* argument, nb::object object) {
  if (holds_negatives(object) || is_lazy_zero(object))
    fail({.argument = argument,
          .found = "a tensor whose bytes are not its values",
          .expected = "memory to write to"});
  return object;
}

void check_tensor_type(const char* argument, nb::handle type) {
  const nb::module_ torch = nb::module_::import_("torch");
  if (PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()),
                       reinterpret_cast<PyTypeObject*>(torch.attr("Tensor").ptr())) == 0)
    return;
  if (is_default_function(type) &&
      nb::getattr(type, "__torch_dispatch__").is(torch.attr("Tensor").attr("__torch_dispatch__")))
    return;
  fail_type(argument, "of the tensor class " + text_of(type.attr("__name__")),
            "a torch.Tensor, since this class has functions of its own");
}

}  // namespace heed::python
