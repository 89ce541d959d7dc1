// The pieces of a vocabulary by their bytes, to find those at the beginning of a text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heed/tokenizer.h"
#include "text/flat_map.h"

namespace heed {

class Trie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNowhere = ~Node{0};

  void add(std::string_view piece, TokenId id);
  Node step(Node node, char byte) const;
  /// Follows all of `bytes`.
  Node walk(Node node, std::string_view bytes) const;
  bool empty() const { return ids_.size() == 1; }
  /// The id of the piece that ends at the node; -1 if there is none.
  TokenId id(Node node) const { return ids_[node]; }

  struct Match {
    TokenId id = -1;
    std::size_t end = 0;
  };
  /// The longest piece that begins at `begin`, continuing from `node`; id -1 if there is none.
  Match longest(std::string_view text, std::size_t begin, Node node = kRoot) const;

 private:
  static std::uint64_t key(Node node, char byte) {
    return std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
  }
  std::vector<TokenId> ids_ = {-1};  // by node
  FlatMap<Node> children_;
};

inline Trie::Node Trie::step(Node node, char byte) const {
  const Node* child = children_.find(key(node, byte));
  return child == nullptr ? kNowhere : *child;
}

inline Trie::Node Trie::walk(Node node, std::string_view bytes) const {
  for (const char byte : bytes) {
    if (node == kNowhere) break;
    node = step(node, byte);
  }
  return node;
}

inline Trie::Match Trie::longest(std::string_view text, std::size_t begin, Node node) const {
  Match found = {.id = -1, .end = begin};
  for (std::size_t i = begin; i < text.size() && node != kNowhere; ++i) {
    node = step(node, text[i]);
    if (node != kNowhere && id(node) >= 0) found = {.id = id(node), .end = i + 1};
  }
  return found;
}

inline void Trie::add(std::string_view piece, TokenId id) {
  Node node = kRoot;
  for (const char byte : piece) {
    Node& child = children_[key(node, byte)];  // 0, the root, is never a child
    if (child == kRoot) {
      child = static_cast<Node>(ids_.size());
      ids_.push_back(-1);
    }
    node = child;
  }
  ids_[node] = id;
}

}  // namespace heed
