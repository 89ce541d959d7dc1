// Which gradients Python asks for, and what it gets.
#pragma once

#include <nanobind/nanobind.h>

#include "heed/attention.h"

namespace heed::python {

/// `of` names arguments of attention: "q", "k", "v", "bias", "sink", "alibi", "scale".
AttentionGradRequest gradient_request(const nanobind::tuple& of);

/// The gradients, in the order of `of`.
nanobind::tuple exported(AttentionGrads gradients, const nanobind::tuple& of);

}  // namespace heed::python
