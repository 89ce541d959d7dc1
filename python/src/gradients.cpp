#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "arrays.h"
#include "heed/error.h"
#include "problem.h"

namespace heed::python {
namespace {

struct Gradient {
  const char* of;
  bool AttentionGradRequest::* asked;
  Tensor AttentionGrads::* tensor;
};

constexpr Gradient kGradients[] = {
    {"q", &AttentionGradRequest::dq, &AttentionGrads::dq},
    {"k", &AttentionGradRequest::dk, &AttentionGrads::dk},
    {"v", &AttentionGradRequest::dv, &AttentionGrads::dv},
    {"bias", &AttentionGradRequest::dbias, &AttentionGrads::dbias},
    {"sink", &AttentionGradRequest::dsink, &AttentionGrads::dsink},
    {"alibi", &AttentionGradRequest::dslope, &AttentionGrads::dslope},
    {"scale", &AttentionGradRequest::dscale, &AttentionGrads::dscale}};

const Gradient& gradient_of(nb::handle name) {
  const auto wanted = nb::cast<std::string>(name);
  const auto* const found =
      std::ranges::find_if(kGradients, [&](const Gradient& each) { return wanted == each.of; });
  if (found == std::ranges::end(kGradients))
    fail({.op = "attention",
          .argument = "of",
          .found = fmt::format("\"{}\"", wanted),
          .expected = "names among q, k, v, bias, sink, alibi and scale"});
  return *found;
}

}  // namespace

AttentionGradRequest gradient_request(const nb::tuple& of) {
  AttentionGradRequest request = {.dq = false, .dk = false, .dv = false};
  for (const nb::handle name : of) request.*gradient_of(name).asked = true;
  return request;
}

nb::tuple exported(AttentionGrads gradients, const nb::tuple& of) {
  nb::list list;
  for (const nb::handle name : of)
    list.append(exported(std::move(gradients.*gradient_of(name).tensor)));
  return nb::tuple(list);
}

}  // namespace heed::python
