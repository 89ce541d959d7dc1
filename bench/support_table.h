// What each attention kernel serves, as the table of the documentation.
#pragma once

#include <string>

namespace heed {

/// Markdown: a row for everything that a case of `attention_cases` can have, a column for each
/// kernel. A cell says for which passes the kernel serves a case that has it; what this machine's
/// CPU lacks does not count. The last columns say whether observers take such a case, and how many
/// there are.
std::string attention_support_table();

}  // namespace heed
