// The documentation's table of the problems that each attention kernel supports.
#pragma once

#include <string>

namespace heed {

/// Markdown: a row for each feature of `attention_cases`, a column per kernel. A cell says for
/// which passes the kernel supports a case with the feature, ignoring what this machine's CPU
/// lacks. The last columns say whether observers support such a case, and how many there are.
std::string attention_support_table();

}  // namespace heed
