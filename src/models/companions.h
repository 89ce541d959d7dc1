// The small files that stand beside a model's weights and belong to it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heed {

/// Copies them, as far as they are there: how to pool and to generate, what the tokens are for, the
/// card and the licence.
void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to);

/// What else lies in a model's folder: neither these nor what `save_model` writes in some form.
/// Sorted, folders with a slash behind; hidden files are not named.
std::vector<std::string> left_out(const std::filesystem::path& folder);

}  // namespace heed
