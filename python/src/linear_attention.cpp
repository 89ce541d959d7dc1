#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "arrays.h"
#include "base/wording.h"
#include "bind.h"
#include "computing.h"
#include "heed/error.h"
#include "heed/operators.h"
#include "settings.h"

namespace heed::python {
namespace {

struct HeldLinear {
  LinearAttentionArgs args;
  std::array<Borrowed, 7> memory;
};

// The index of a word among those that an argument allows.
template <std::size_t N>
std::size_t place_of(const char* argument, const std::string& word,
                     const std::array<const char*, N>& words) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end())
    fail("linear_attention", argument, fmt::format("\"{}\"", word),
         fmt::format("one of \"{}\"", joined(words, "\", \"")));
  return static_cast<std::size_t>(found - words.begin());
}

UpdateRule rule_of(const std::string& word) {
  constexpr std::array kRules = {"sum", "gated", "delta", "gated_delta"};
  return static_cast<UpdateRule>(place_of("rule", word, kRules));
}

FeatureKind features_of(const std::string& word) {
  constexpr std::array kKinds = {"identity", "elu_plus_one", "relu", "random_exponential"};
  return static_cast<FeatureKind>(place_of("features", word, kKinds));
}

HeldLinear held_linear(const nb::dict& settings) {
  HeldLinear held;
  std::size_t at = 0;
  const auto array = [&](const char* name) {
    held.memory[at] = borrow(settings[name], name);
    return held.memory[at++].view;
  };
  held.args = {
      .q = array("q"),
      .k = array("k"),
      .v = array("v"),
      .state = array("state"),
      .decay = array("decay"),
      .beta = array("beta"),
      .rule = rule_of(setting<std::string>(settings, "rule", "a str")),
      .features = {.kind = features_of(setting<std::string>(settings, "features", "a str")),
                   .scale = setting<double>(settings, "feature_scale", "a number"),
                   .projection = array("projection")},
      .scale = setting<double>(settings, "scale", "a number"),
      .causal = setting<bool>(settings, "causal", "True or False"),
      .normalised = setting<bool>(settings, "normalised", "True or False")};
  return held;
}

nb::tuple forward(const nb::dict& settings) {
  const HeldLinear held = held_linear(settings);
  LinearAttended attended = computing([&] { return linear_attention(held.args); });
  return nb::make_tuple(exported(std::move(attended.out)), exported(std::move(attended.state)));
}

nb::tuple linear_backward(const nb::dict& settings, const nb::object& dout,
                          const nb::object& dstate) {
  const HeldLinear held = held_linear(settings);
  const Borrowed out = borrow(dout, "dout");
  const Borrowed state = borrow(dstate, "dstate");
  LinearAttentionGrads grads =
      computing([&] { return linear_attention_backward(held.args, out.view, state.view); });
  nb::list made;
  for (Tensor* each : {&grads.dq, &grads.dk, &grads.dv, &grads.dstate, &grads.ddecay, &grads.dbeta})
    if (each->view().given()) made.append(exported(std::move(*each)));
  return nb::tuple(made);
}

}  // namespace

void bind_linear_attention(nb::module_& module) {
  module.def("linear_attention", &forward);
  module.def("linear_attention_backward", &linear_backward, nb::arg("settings"), nb::arg("dout"),
             nb::arg("dstate").none());
  module.def("random_projection", [](std::int64_t features, std::int64_t width, std::uint64_t seed,
                                     bool f64) {
    return exported(random_projection(features, width, seed, f64 ? DType::kF64 : DType::kF32));
  });
}

}  // namespace heed::python
