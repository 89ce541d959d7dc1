#include "problem.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "errors.h"

namespace heed::python {
namespace {

template <typename Value>
struct Named {
  const char* name;
  Value value;
};

constexpr Named<Similarity> kSimilarities[] = {{"dot", Similarity::kDot},
                                               {"cosine", Similarity::kCosine},
                                               {"gaussian", Similarity::kGaussian},
                                               {"absolute", Similarity::kAbsolute}};
constexpr Named<Normaliser> kNormalisers[] = {{"softmax", Normaliser::kSoftmax},
                                              {"sigmoid", Normaliser::kSigmoid},
                                              {"none", Normaliser::kNone}};

template <typename Value>
Value value_of(const char* argument, std::string_view name, std::span<const Named<Value>> rows) {
  std::string known;  // short; empty if a row fits
  for (const Named<Value>& row : rows) {
    if (row.name == name) return row.value;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", row.name);
  }
  fail({.op = "attention",
        .argument = argument,
        .found = fmt::format("\"{}\"", name),
        .expected = "one of " + known});
}

// The keyword arguments, in the order in which heed.attention passes them.
constexpr const char* kSettings[] = {
    "mask",       "scale",      "bias",     "similarity", "normaliser",     "softcap",
    "alibi",      "sink",       "dropout",  "seed",       "dropout_offset", "query_length",
    "key_length", "key_begin",  "q_offset", "key_offset", "query_starts",   "key_starts",
    "page_table", "ring_begin", "k_scales", "v_scales",   "kernel"};

// Reads settings in order: each `next` must name the next one; None means the default.
class Settings {
 public:
  // A tuple of all settings, or a dict of the given ones.
  explicit Settings(nb::handle given) {
    if (PyDict_Check(given.ptr()) != 0)
      take_named(given);
    else
      take_all(given);
  }

  nb::object next(std::string_view name) {
    if (kSettings[at_] != name) throw std::logic_error(kSettings[at_]);
    const nb::handle value = values_[at_++];
    return value.is_valid() ? nb::borrow(value) : nb::none();
  }
  ConstView array(Problem& problem, const char* name) {
    return problem.hold(borrow(next(name), name));
  }
  std::vector<std::int64_t> integers(const char* name) {
    return heed::python::integers(next(name), name);
  }
  template <typename T>
  T value_or(const char* name, T otherwise, const char* expected) {
    const nb::object object = next(name);
    if (object.is_none()) return otherwise;
    T value{};
    if constexpr (std::is_floating_point_v<T>) check_gradient(name, object);
    if (!nb::try_cast(object, value)) fail_type(name, kind_of(object), expected);
    return value;
  }

 private:
  void take_all(nb::handle given) {
    if (PyTuple_Check(given.ptr()) == 0 || nb::len(given) != values_.size())
      throw nb::type_error("Problem: settings are a dict, or a tuple of all");
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = PyTuple_GetItem(given.ptr(), static_cast<Py_ssize_t>(i));
  }
  void take_named(nb::handle given) {
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(given.ptr(), &at, &name, &value) != 0;)
      values_[place_of(name)] = value;
  }
  static std::size_t place_of(PyObject* name) {
    for (std::size_t i = 0; i < std::size(kSettings); ++i)
      if (PyUnicode_CompareWithASCIIString(name, kSettings[i]) == 0) return i;
    throw nb::type_error(
        fmt::format("attention: unexpected keyword argument '{}'", text_of(name)).c_str());
  }

  std::array<nb::handle, std::size(kSettings)> values_;  // borrowed from the argument
  std::size_t at_ = 0;
};

void read_mask(Problem& problem, const nb::object& mask) {
  if (mask.is_none()) return;
  if (!nb::isinstance<HeldMask>(mask))
    fail_type("mask", kind_of(mask),
              "a heed mask, such as heed.causal() or heed.keep(boolean_array)");
  problem.mask = nb::cast<HeldMask>(mask);
  problem.args.mask = problem.mask.mask;
}

void read_scores(Problem& problem, Settings& given) {
  Scores& scores = problem.args.scores;
  scores.scale = numbers(given.next("scale"), "scale");
  scores.bias = given.array(problem, "bias");
  scores.similarity = value_of<Similarity>(
      "similarity", given.value_or<std::string>("similarity", "dot", "a str"), kSimilarities);
  scores.normaliser = value_of<Normaliser>(
      "normaliser", given.value_or<std::string>("normaliser", "softmax", "a str"), kNormalisers);
  scores.softcap = given.value_or<double>("softcap", 0, "a number");
  scores.alibi = given.array(problem, "alibi");
  scores.sink = given.array(problem, "sink");
}

void read_dropout(Problem& problem, Settings& given) {
  Dropout dropout;
  dropout.rate = given.value_or<double>("dropout", 0, "a number");
  const nb::object seed = given.next("seed");
  if (dropout.rate > 0 && dropout.rate <= 1 && seed.is_none())  // the operator rejects other rates
    fail(
        {.op = "attention", .argument = "seed", .expected = "a whole number, as dropout is given"});
  if (!seed.is_none() && !nb::try_cast(seed, dropout.seed))
    fail_type("seed", text_of(seed), "a whole number from 0 to 2**64 - 1");
  dropout.offset =
      given.value_or<std::uint32_t>("dropout_offset", 0, "a whole number from 0 to 2**32 - 1");
  if (dropout.rate != 0) problem.args.dropout = dropout;
}

void read_extents(Problem& problem, Settings& given) {
  Extents& extents = problem.args.extents;
  extents.query_length = given.integers("query_length");
  extents.key_length = given.integers("key_length");
  extents.key_begin = given.integers("key_begin");
  extents.q_offset = given.integers("q_offset");
  extents.key_offset = given.integers("key_offset");
  extents.query_starts = given.integers("query_starts");
  extents.key_starts = given.integers("key_starts");
}

void read_keys(Problem& problem, Settings& given) {
  Keys& keys = problem.args.keys;
  keys.page_table = given.array(problem, "page_table");
  keys.ring_begin = given.integers("ring_begin");
  keys.k_scales = given.array(problem, "k_scales");
  keys.v_scales = given.array(problem, "v_scales");
}

Borrowed required(const nb::object& object, const char* argument, Hold hold) {
  Borrowed array = borrow(object, argument, hold);
  if (!array.given()) fail_type(argument, "None", "an array");
  return array;
}

}  // namespace

void read_settings(Problem& problem, nb::handle settings) {
  Settings given(settings);
  read_mask(problem, given.next("mask"));
  read_scores(problem, given);
  read_dropout(problem, given);
  read_extents(problem, given);
  read_keys(problem, given);
  problem.args.kernel = given.value_or<std::string>("kernel", "", "a str");
}

void read_arrays(Problem& problem, const nb::object& q, const nb::object& k, const nb::object& v,
                 Hold hold) {
  problem.args.q = problem.hold(required(q, "q", hold));
  problem.args.keys.k = problem.hold(required(k, "k", hold));
  problem.args.keys.v = problem.hold(required(v, "v", hold));
}

std::optional<Shape> out_shape(const Problem& problem) {
  Shape shape = problem.args.q.shape();
  if (shape.rank() == 0 || problem.args.keys.v.rank() == 0) return {};
  shape[shape.rank() - 1] = problem.args.keys.v.dim(-1);
  return shape;
}

ConstView Problem::hold(Borrowed array) {
  const ConstView view = array.view;
  if (array.owner != nullptr) memory.push_back(std::move(array));
  return view;
}

void bind_problem(nb::module_& module) {
  nb::class_<Problem>(module, "Problem")
      .def(
          "__init__",
          [](Problem* self, const nb::object& q, const nb::object& k, const nb::object& v,
             const nb::object& settings) {
            new (self) Problem();
            try {
              read_arrays(*self, q, k, v);
              read_settings(*self, settings);
            } catch (...) {
              self->~Problem();
              throw;
            }
          },
          nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(), nb::arg("settings"))
      .def_prop_ro("out_shape",
                   [](const Problem& problem) -> nb::object {
                     const std::optional<Shape> shape = out_shape(problem);
                     return shape ? nb::object(shape_tuple(*shape)) : nb::none();
                   })
      .def_prop_ro("has_lse", &Problem::has_lse);
  nb::list names;
  for (const char* name : kSettings) names.append(name);
  module.attr("SETTINGS") = nb::tuple(names);
}

}  // namespace heed::python
