// Short stories in plain English in which names return and pronouns refer, to be read beside other
// texts: the word behind a pronoun depends on whom it stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

/// So many, one a line. A woman and a man, each with a trade, meet; what `she` and `he` do is what
/// their trades do. A quarter of the pairs of names is in none of them.
std::string generated_stories(std::uint64_t seed, std::int64_t count);

/// A sentence with a pronoun and two candidates of whom one fits; offsets are bytes of the text.
struct PronounSentence {
  std::string text;  // ends with the pronoun
  std::size_t pronoun = 0;
  std::size_t noun = 0;   // the name that it stands for
  std::size_t other = 0;  // the other person's
};

/// With pairs of names that no generated story has.
std::vector<PronounSentence> pronoun_sentences(std::uint64_t seed, std::int64_t count);

}  // namespace heed
