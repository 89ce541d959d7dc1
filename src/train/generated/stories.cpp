#include "train/generated/stories.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>

#include "train/crops.h"
#include "train/generated/generator.h"

namespace heed {
namespace {

constexpr std::int64_t kNames = 12;
constexpr std::string_view kStoryWomen[kNames] = {"Mary",      "Jane",  "Emma",  "Anna",
                                                  "Elizabeth", "Lucy",  "Alice", "Martha",
                                                  "Rose",      "Ellen", "Clara", "Catherine"};
constexpr std::string_view kStoryMen[kNames] = {"John",   "Tom",     "Henry",  "William",
                                                "George", "Charles", "Edward", "Robert",
                                                "James",  "Peter",   "Frank",  "Harry"};

// What a person of a trade does: the ending after `she` or `he`, once the person is known.
struct Trade {
  std::string_view name;
  std::array<std::string_view, 3> does;
};
constexpr Trade kTrades[] = {
    {"baker", {"baked a loaf", "kneaded the dough", "heated the oven"}},
    {"sailor", {"mended a sail", "steered the boat", "looked at the sea"}},
    {"smith", {"shod a horse", "hammered the iron", "lit the forge"}},
    {"miller", {"ground the corn", "carried a sack of flour", "stopped the mill"}},
    {"weaver", {"wove a shawl", "spun the wool", "sat down at the loom"}},
    {"fisher", {"caught a trout", "threw the net", "sold a fish"}},
    {"shepherd", {"counted the sheep", "called the dog", "looked for a lamb"}},
    {"gardener", {"watered the roses", "planted a tree", "dug in the garden"}},
    {"tailor", {"sewed a coat", "cut the cloth", "threaded a needle"}},
    {"hunter", {"followed a deer", "loaded the gun", "watched the wood"}},
    {"farmer", {"ploughed the field", "fed the cows", "brought in the hay"}},
    {"cook", {"stirred the soup", "roasted a goose", "peeled the apples"}},
    {"teacher", {"read a book", "wrote a letter", "rang the school bell"}},
    {"doctor", {"mixed a medicine", "visited the sick", "bound up a wound"}},
    {"carpenter", {"planed a board", "made a chair", "nailed the door"}},
    {"singer", {"sang a song", "learned a tune", "hummed to the children"}}};

constexpr std::string_view kStoryPlaces[] = {"at the market", "by the river",     "in the village",
                                             "on the bridge", "under an old oak", "near the church",
                                             "on the road",   "at the inn"};
constexpr std::string_view kTimes[] = {"One morning", "One evening",   "Last winter",
                                       "On a Sunday", "In the spring", "Long ago"};
constexpr std::string_view kStoryLinks[] = {
    "The wind was cold.",         "It had rained all day.",      "The sun was going down.",
    "Nobody else was there.",     "The road was long and dry.",  "The bells were ringing.",
    "There was much to be done.", "The days were growing short."};
constexpr std::string_view kSayings[] = {"I am glad to see you", "It is late",
                                         "We must go home",      "That was well done",
                                         "Give me your hand",    "I have not forgotten it"};
constexpr std::string_view kThen[] = {"", "Then ", "Soon ", "After a while ", "The next day "};

struct Person {
  std::string_view name, pronoun, object;
  const Trade* trade;
};

// A quarter of the differences between the names' numbers is held out of stories.
std::int32_t offset_of(Random& random, bool held_out) {
  constexpr std::int32_t kHeld = kNames / 4;
  return held_out ? number_below(random, kHeld) : kHeld + number_below(random, kNames - kHeld);
}

std::array<Person, 2> two_persons(Random& random, bool held_out) {
  const std::int32_t woman = number_below(random, kNames);
  const std::int64_t man = (woman + offset_of(random, held_out)) % kNames;
  const std::int32_t trade = number_below(random, std::size(kTrades));
  const std::size_t other =
      (static_cast<std::size_t>(trade) + 1 + random.below(std::size(kTrades) - 1)) %
      std::size(kTrades);
  std::array<Person, 2> persons = {Person{kStoryWomen[woman], "she", "her", &kTrades[trade]},
                                   Person{kStoryMen[man], "he", "him", &kTrades[other]}};
  if (random.below(2) == 0) std::swap(persons[0], persons[1]);
  return persons;
}

std::string_view pick(Random& random, std::span<const std::string_view> items) {
  return one_of<std::string_view>(random, items);
}

// The trade precedes the name, so that finding a trade means finding a name.
std::string introduced(Random& random, const std::array<Person, 2>& persons) {
  const std::string a = fmt::format("the {} {}", persons[0].trade->name, persons[0].name);
  const std::string b = fmt::format("the {} {}", persons[1].trade->name, persons[1].name);
  const std::string_view place = pick(random, kStoryPlaces);
  switch (random.below(3)) {
    case 0:
      return fmt::format("{} {} met {} {}.", pick(random, kTimes), a, b, place);
    case 1:
      return fmt::format("{} {} and {} sat together {}.", pick(random, kTimes), a, b, place);
    default:
      return fmt::format("T{} saw {} {}.", a.substr(1), b, place);
  }
}

NounPhrase phrase_of(const Person& person, std::string_view text) {
  const std::string phrase = fmt::format("{} {}", person.trade->name, person.name);
  const std::size_t begin = text.find(phrase);
  return {.begin = begin, .end = begin + phrase.size()};
}

std::string capital(std::string_view word) {
  std::string text(word);
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string begun(Random& random, std::string_view pronoun) {
  const std::string_view then = pick(random, kThen);
  return then.empty() ? capital(pronoun) : fmt::format("{}{}", then, pronoun);
}

std::string done_by(Random& random, const std::array<Person, 2>& persons) {
  const std::size_t first = random.below(2);
  const Person& one = persons[first];
  const Person& two = persons[1 - first];
  const auto does = [&](const Person& person) { return pick(random, person.trade->does); };
  switch (random.below(4)) {
    case 0:
      return fmt::format("{} {}, and {} {}.", begun(random, one.pronoun), does(one), two.pronoun,
                         does(two));
    case 1:
      return fmt::format("{} {}. {} thanked {}.", begun(random, one.pronoun), does(one), two.name,
                         one.object);
    case 2:
      return fmt::format("{} {}, and {} helped {}.", begun(random, one.pronoun), does(one),
                         two.name, one.object);
    default:
      return fmt::format("{} {}.", begun(random, one.pronoun), does(one));
  }
}

std::string said(Random& random, const std::array<Person, 2>& persons) {
  const std::size_t first = random.below(2);
  return fmt::format("\"{},\" said {} to {}.", pick(random, kSayings), persons[first].name,
                     persons[1 - first].name);
}

std::string story(Random& random) {
  const std::array<Person, 2> persons = two_persons(random, /*held_out=*/false);
  std::string text = introduced(random, persons);
  const std::uint64_t sentences = 2 + random.below(3);
  for (std::uint64_t i = 0; i < sentences; ++i) {
    if (random.below(3) == 0) text += fmt::format(" {}", pick(random, kStoryLinks));
    text += fmt::format(" {}", done_by(random, persons));
    if (random.below(3) == 0) text += fmt::format(" {}", said(random, persons));
  }
  if (random.below(2) == 0)
    text += fmt::format(" So {} and {} went home.", persons[0].name, persons[1].name);
  return text;
}

}  // namespace

std::string generated_stories(std::uint64_t seed, std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) {
    Random random = random_for(RandomUse::kStories, seed, i, kWordsOfExample);
    text += story(random) + "\n";
  }
  return text;
}

std::vector<PronounSentence> pronoun_sentences(std::uint64_t seed, std::int64_t count) {
  std::vector<PronounSentence> sentences;
  for (std::int64_t i = 0; i < count; ++i) {
    Random random = random_for(RandomUse::kStories, ~seed, i, kWordsOfExample);
    const std::array<Person, 2> persons = two_persons(random, /*held_out=*/true);
    const std::size_t which = random.below(2);
    PronounSentence sentence = {.text = introduced(random, persons)};
    sentence.noun = phrase_of(persons[which], sentence.text);
    sentence.other = phrase_of(persons[1 - which], sentence.text);
    sentence.text += " ";
    const std::string last = begun(random, persons[which].pronoun);
    sentence.pronoun = sentence.text.size() + last.size() - persons[which].pronoun.size();
    sentence.text += last;
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace heed
