// Changes a text before it is split: cleaning, normal forms, lower case, marks for spaces.
#pragma once

#include <functional>
#include <vector>

#include "text/pipeline/piece.h"
#include "text/tokenizer_file.h"
#include "text/unicode/normal_form.h"

namespace heed {

/// `piece` must be valid UTF-8; so is the result.
using Normalizer = std::function<Piece(const Piece& piece, Arena& arena)>;

/// Reads the component `normalizer` of a file, or a part of it; empty if there is none.
Normalizer read_normalizer(const TokenizerFile& file, const Json& component);

Normalizer read_bert_normalizer(const TokenizerFile& file, const Json& component);
Normalizer read_charsmap_normalizer(const TokenizerFile& file, const Json& component);

/// Applies the normalizers in this order.
Normalizer in_turn(std::vector<Normalizer> parts);

/// Changes each character independently: `change` appends the replacement of `code` to `out`.
Normalizer of_each_character(std::function<void(char32_t code, std::vector<char32_t>& out)> change);

/// The characters of the normal form, except those that `drops` names.
Normalizer formed(NormalForm form, bool (*drops)(char32_t code));

/// Appends the lower case of `code`.
void append_lower_case(char32_t code, std::vector<char32_t>& out);

}  // namespace heed
