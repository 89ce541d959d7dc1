// heed's generated puzzles have the stated answers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "train/generated/generator.h"
#include "train/generated/stories.h"

namespace heed {
namespace {

using Words = std::vector<std::int32_t>;

const GeneratorEntry& entry(std::string_view name) {
  return *std::ranges::find(generators(), name, &GeneratorEntry::name);
}

// Some puzzles of the usual length.
std::vector<Puzzle> puzzles(std::string_view name, bool held_out = false, int count = 200) {
  const auto generator = entry(name).make(entry(name).usual_length);
  std::vector<Puzzle> made(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < made.size(); ++i) {
    Random random(1, 7, i << 24U);
    generator.make(random, held_out, made[i]);
  }
  return made;
}

TEST(Generators, ReverseCopyAndSortSayWhatTheyAreCalled) {
  for (const Puzzle& puzzle : puzzles("reverse"))
    EXPECT_EQ(puzzle.answer, Words(puzzle.source.rbegin(), puzzle.source.rend()));
  for (const Puzzle& puzzle : puzzles("copy")) EXPECT_EQ(puzzle.answer, puzzle.source);
  for (const Puzzle& puzzle : puzzles("sort")) {
    Words sorted = puzzle.source;
    std::ranges::sort(sorted);
    EXPECT_EQ(puzzle.answer, sorted);
  }
}

TEST(Generators, AddWritesTheSumFromItsLastDigitOn) {
  for (const Puzzle& puzzle : puzzles("add")) {
    const Words& s = puzzle.source;
    const Words& a = puzzle.answer;
    ASSERT_EQ(s.size(), 7U);
    ASSERT_EQ(a.size(), 4U);
    EXPECT_EQ(s[0] * 100 + s[1] * 10 + s[2] + s[4] * 100 + s[5] * 10 + s[6],
              a[3] * 1000 + a[2] * 100 + a[1] * 10 + a[0]);
  }
}

TEST(Generators, OneWordOfASetIsOfAnotherKind) {
  for (const Puzzle& puzzle : puzzles("anomaly")) {
    std::map<int, int> kinds;
    for (const std::int32_t word : puzzle.source) ++kinds[word / 8];
    ASSERT_EQ(kinds.size(), 2U);
    for (std::size_t i = 0; i < puzzle.source.size(); ++i)
      EXPECT_EQ(puzzle.answer[i] == 1, kinds[puzzle.source[i] / 8] == 1);
  }
}

TEST(Generators, InductionAsksOnlyForWhatStoodThereBefore) {
  std::set<std::size_t> periods;
  for (const Puzzle& puzzle : puzzles("induction")) {
    const auto period = static_cast<std::size_t>(
        std::ranges::find_if(puzzle.answer, [](int answer) { return answer >= 0; }) -
        puzzle.answer.begin());
    periods.insert(period);
    for (std::size_t i = period; i + 1 < puzzle.source.size(); ++i) {
      EXPECT_EQ(puzzle.answer[i], puzzle.source[i + 1]);
      EXPECT_EQ(puzzle.answer[i], puzzle.source[i + 1 - period]);
    }
    EXPECT_EQ(std::set(puzzle.source.begin(), puzzle.source.end()).size(), period);
  }
  EXPECT_GT(periods.size(), 6U);
}

TEST(Generators, APronounsNounFitsItAndStandsBeforeIt) {
  const auto generator = entry("pronoun").make(3);
  const std::vector<std::string> words = generator.words;
  std::map<std::string, std::set<std::string>> nouns;
  for (const Puzzle& puzzle : puzzles("pronoun"))
    for (std::size_t i = 0; i < puzzle.source.size(); ++i) {
      if (puzzle.answer[i] < 0) continue;
      const auto at = std::find(puzzle.source.begin(), puzzle.source.end(), puzzle.answer[i]);
      EXPECT_LT(static_cast<std::size_t>(at - puzzle.source.begin()), i);
      EXPECT_EQ(std::count(puzzle.source.begin(), puzzle.source.end(), puzzle.answer[i]), 1);
      nouns[words[static_cast<std::size_t>(puzzle.source[i])]].insert(
          generator.labels[static_cast<std::size_t>(puzzle.answer[i])]);
    }
  ASSERT_EQ(nouns.size(), 3U);  // she, he, it
  EXPECT_EQ(nouns["she"].size(), 12U);
  EXPECT_TRUE(nouns["she"].contains("anna"));
  EXPECT_TRUE(nouns["he"].contains("tom"));
  EXPECT_TRUE(nouns["it"].contains("lamp"));
}

TEST(Generators, NoPairOfPersonsIsInBothParts) {
  const auto pairs = [](bool held_out) {
    std::set<std::pair<int, int>> met;
    for (const Puzzle& puzzle : puzzles("pronoun", held_out, 2000)) {
      Words persons;
      for (const std::int32_t word : puzzle.source)
        if (word < 24) persons.push_back(word);
      EXPECT_EQ(persons.size(), 2U);
      std::ranges::sort(persons);
      met.emplace(persons[0], persons[1]);
    }
    return met;
  };
  const auto trained = pairs(false);
  for (const auto& pair : pairs(true)) EXPECT_FALSE(trained.contains(pair));
  EXPECT_GT(trained.size(), 100U);
}

TEST(Generators, SourcesAreNoLongerThanTold) {
  for (const GeneratorEntry& one : generators()) {
    const auto generator = one.make(one.usual_length);
    for (const Puzzle& puzzle : puzzles(one.name)) {
      EXPECT_LE(std::ssize(puzzle.source), generator.longest) << one.name;
      EXPECT_LE(std::ssize(puzzle.answer), generator.longest) << one.name;
      for (const std::int32_t word : puzzle.source)
        EXPECT_LT(static_cast<std::size_t>(word), generator.words.size()) << one.name;
    }
  }
}

TEST(Stories, ReferByPronounsToPersonsThatNoStoryForTestsHas) {
  const std::string stories = generated_stories(1, 500);
  EXPECT_EQ(std::ranges::count(stories, '\n'), 500);
  EXPECT_EQ(stories, generated_stories(1, 500));
  EXPECT_NE(stories, generated_stories(2, 500));
  for (const PronounSentence& one : pronoun_sentences(1, 200)) {
    const std::string_view text = one.text;
    const std::string_view pronoun = text.substr(one.pronoun);
    EXPECT_TRUE(pronoun == "she" || pronoun == "he" || pronoun == "She" || pronoun == "He") << text;
    const auto name = [&](const NounPhrase& phrase) {
      const std::string_view words = text.substr(phrase.begin, phrase.end - phrase.begin);
      return std::string(words.substr(words.find(' ') + 1));
    };
    ASSERT_LE(one.noun.end, one.pronoun);
    ASSERT_LE(one.other.end, one.pronoun);
    for (const NounPhrase& phrase : {one.noun, one.other})  // "baker Mary"
      EXPECT_EQ(std::ranges::count(text.substr(phrase.begin, phrase.end - phrase.begin), ' '), 1);
    for (const char* pair : {"{} and {} went home", "said {} to {}."}) {
      const auto both = fmt::format(fmt::runtime(pair), name(one.noun), name(one.other));
      EXPECT_EQ(stories.find(both), std::string::npos) << both;
    }
  }
}

}  // namespace
}  // namespace heed
