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

/// A person's noun phrase without its article, "baker Mary": bytes [begin, end) of the text.
struct NounPhrase {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A sentence with a pronoun and two candidates of whom one fits.
struct PronounSentence {
  std::string text;         // ends with the pronoun
  std::size_t pronoun = 0;  // where that begins, in bytes
  NounPhrase noun = {};     // what it stands for
  NounPhrase other = {};    // the other person
};

/// With pairs of names that no generated story has.
std::vector<PronounSentence> pronoun_sentences(std::uint64_t seed, std::int64_t count);

}  // namespace heed
