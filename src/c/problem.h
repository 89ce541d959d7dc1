// The C structs of attention as the operators take them.
#pragma once

#include <string_view>

#include "heed/attention.h"
#include "heed/c/attention.h"

namespace heed::c {

AttentionArgs attention_args(std::string_view op, const heed_attention_args* given);

/// Where results go ("into"), or what a forward pass left ("attended").
AttendedView attended_view(std::string_view op, std::string_view argument,
                           const heed_attended* given);
AttendedConstView attended_const_view(std::string_view op, const heed_attended* given);

}  // namespace heed::c
