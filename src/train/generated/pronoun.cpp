// Small stories in which a pronoun refers to a noun: a woman, a man and a thing are named, in any
// order, and only the pronoun's form shows which one it means.
#include <algorithm>
#include <array>
#include <utility>

#include "train/generated/generator.h"

namespace heed {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view kWomen[] = {"anna", "mary", "jane",  "emma",  "clara", "lucy",
                                       "ruth", "rose", "ellen", "alice", "kate",  "sophie"};
constexpr std::string_view kMen[] = {"tom",  "john",   "peter",  "paul",   "henry", "jack",
                                     "fred", "george", "edward", "robert", "hugh",  "walter"};
constexpr std::string_view kThings[] = {"lamp", "boat", "clock", "wagon", "kettle", "drum",
                                        "bell", "gate", "cart",  "kite",  "mill",   "bridge"};
constexpr std::string_view kVerbs[] = {"met", "saw", "helped", "followed", "greeted", "painted"};
constexpr std::string_view kPlaces[] = {"river", "market", "castle", "garden", "harbour", "forest"};
constexpr std::string_view kBetween[] = {"then", "later", "soon", "finally", "again"};
constexpr std::string_view kStates[] = {"old", "new", "red", "heavy", "small", "broken"};
constexpr std::string_view kPersons[] = {"smiled", "laughed", "slept", "sang", "waited", "left"};
constexpr std::string_view kOthers[] = {"shook", "fell", "creaked", "vanished", "moved", "stood"};
constexpr std::string_view kRest[] = {"she", "he", "it", "the", "was", "near", ".", "it", "rained"};
constexpr std::array<Words, 10> kAll = {kWomen,   kMen,    kThings,  kVerbs,  kPlaces,
                                        kBetween, kStates, kPersons, kOthers, kRest};

class Pronouns {
 public:
  Pronouns(std::int64_t sentences, std::vector<std::string> words)
      : sentences_(sentences), words_(std::move(words)) {}

  // Pairs of persons are held out: no validation story has a pair from training.
  void operator()(Random& random, bool held_out, Puzzle& puzzle) const {
    const std::size_t woman = random.below(std::size(kWomen));
    const std::size_t man = (woman + held_offset(random, held_out)) % std::size(kMen);
    const std::string_view thing = one_of<std::string_view>(random, kThings);
    const bool woman_first = random.below(2) == 0;
    const bool thing_first = random.below(2) == 0;
    if (thing_first) describe(random, thing, puzzle);
    say(woman_first ? kWomen[woman] : kMen[man], puzzle);
    say(one_of<std::string_view>(random, kVerbs), puzzle);
    say(woman_first ? kMen[man] : kWomen[woman], puzzle);
    for (const std::string_view word : {"near", "the"}) say(word, puzzle);
    say(one_of<std::string_view>(random, kPlaces), puzzle);
    say(".", puzzle);
    if (!thing_first) describe(random, thing, puzzle);
    for (std::int64_t i = 0; i < sentences_; ++i) {
      if (random.below(2) == 0) say(one_of<std::string_view>(random, kBetween), puzzle);
      const std::array<std::string_view, 3> nouns = {kWomen[woman], kMen[man], thing};
      refer(random, nouns, puzzle);
    }
  }

 private:
  static constexpr std::array<std::string_view, 3> kPronouns = {"she", "he", "it"};

  // A quarter of the differences between the two persons' numbers is held out.
  static std::size_t held_offset(Random& random, bool held_out) {
    constexpr std::size_t kHeld = std::size(kMen) / 4;
    return held_out ? random.below(kHeld) : kHeld + random.below(std::size(kMen) - kHeld);
  }

  std::int32_t number_of(std::string_view word) const {
    return static_cast<std::int32_t>(std::ranges::find(words_, word) - words_.begin());
  }

  void say(std::string_view word, Puzzle& puzzle, std::string_view refers_to = {}) const {
    puzzle.source.push_back(number_of(word));
    puzzle.answer.push_back(refers_to.empty() ? -1 : number_of(refers_to));
  }

  void describe(Random& random, std::string_view thing, Puzzle& puzzle) const {
    for (const std::string_view word : {std::string_view("the"), thing, std::string_view("was")})
      say(word, puzzle);
    say(one_of<std::string_view>(random, kStates), puzzle);
    say(".", puzzle);
  }

  void refer(Random& random, const std::array<std::string_view, 3>& nouns, Puzzle& puzzle) const {
    const std::size_t which = random.below(nouns.size());
    say(kPronouns[which], puzzle, nouns[which]);
    say(one_of<std::string_view>(random, which == 2 ? Words(kOthers) : Words(kPersons)), puzzle);
    say(".", puzzle);
  }

  std::int64_t sentences_;
  std::vector<std::string> words_;
};

}  // namespace

Generator pronoun_generator(std::int64_t length) {
  Generator generator = {.form = AnswerForm::kLabels, .longest = 7 + 6 + 6 * length};
  std::vector<std::string>& words = generator.words;
  for (const Words& list : kAll)
    for (const std::string_view word : list)
      if (std::ranges::find(words, word) == words.end()) words.emplace_back(word);
  // The nouns are the first words, so a noun's label is its number.
  generator.labels.assign(words.begin(),
                          words.begin() + std::size(kWomen) + std::size(kMen) + std::size(kThings));
  generator.make = Pronouns(length, words);
  return generator;
}

}  // namespace heed
