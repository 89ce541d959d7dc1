// The gradients of the backward pass, as options of `attend` and `explain`.
#pragma once

#include "cli/attend/attention_options.h"
#include "heed/attention.h"

namespace heed::cli {

struct NamedGradient {
  const char* name;    // of the gradient and of its file
  const char* option;  // the option of its operand
  bool AttentionGradRequest::* asked;
  Tensor AttentionGrads::* tensor;
};

inline constexpr NamedGradient kGradients[] = {
    {"dq", "Q", &AttentionGradRequest::dq, &AttentionGrads::dq},
    {"dk", "K", &AttentionGradRequest::dk, &AttentionGrads::dk},
    {"dv", "V", &AttentionGradRequest::dv, &AttentionGrads::dv},
    {"dbias", "--bias", &AttentionGradRequest::dbias, &AttentionGrads::dbias},
    {"dsink", "--sink", &AttentionGradRequest::dsink, &AttentionGrads::dsink},
    {"dslope", "--alibi", &AttentionGradRequest::dslope, &AttentionGrads::dslope},
    {"dscale", "--scale", &AttentionGradRequest::dscale, &AttentionGrads::dscale}};

/// --grad-of.
Option grad_of_option(AttentionOptions& options);

/// The gradients named by --grad-of; by default, those of all given inputs.
AttentionGradRequest grad_request(const AttentionOptions& options, const AttentionArgs& args);

}  // namespace heed::cli
