// Short stories in plain English with recurring names and pronouns, for training beside other
// texts: the word after a pronoun depends on the person it refers to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

/// This many stories, one per line. A woman and a man, each with a trade, meet; `she` and `he` then
/// do what their trades do. A quarter of the pairs of names never occurs.
std::string generated_stories(std::uint64_t seed, std::int64_t count);

/// A person's noun phrase without its article, "baker Mary": bytes [begin, end) of the text.
struct NounPhrase {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A sentence with a pronoun and two candidates, one of which fits.
struct PronounSentence {
  std::string text;         // ends with the pronoun
  std::size_t pronoun = 0;  // its beginning, in bytes
  NounPhrase noun = {};     // the noun it refers to
  NounPhrase other = {};    // the other person
};

/// With pairs of names that no generated story contains.
std::vector<PronounSentence> pronoun_sentences(std::uint64_t seed, std::int64_t count);

}  // namespace heed
