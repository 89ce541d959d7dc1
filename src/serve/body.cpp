#include "serve/body.h"

#include <algorithm>

#include "base/wording.h"
#include "heed/error.h"
#include "inspect/evidence/trial.h"
#include "serve/route.h"

namespace heed::serve {

JsonText parse_body(const std::string& body) {
  return JsonText::parse(body, {.file = "body", .unique_keys = true});
}

void refuse_field(const std::string& name, const Json& found, const char* expected) {
  fail("body", name, found.brief(), expected);
}

void check_fields(const Json& object, const std::string& name,
                  const std::vector<std::string>& fields) {
  for (const auto& [field, value] : object.members())
    if (std::ranges::find(fields, field) == fields.end())
      fail("body", name + clipped(field, kMostShown), "unknown",
           fmt::format("one of {}", joined(fields, ", ")));
}

std::int64_t whole_number(const Json& number, const std::string& name) {
  const std::optional<std::int64_t> whole = number.as_integer();
  if (!whole) refuse_field(name, number, "a whole number");
  return *whole;
}

std::string text_of(const Json& text, const std::string& name) {
  if (text.as_text() == nullptr) refuse_field(name, text, "a string");
  return *text.as_text();
}

namespace {

// One edit's object, whose fields are read by name.
class EditBody {
 public:
  EditBody(std::string name, const Json& body, const Session& session,
           const std::vector<std::string>& fields)
      : name_(std::move(name)), body_(body), session_(session) {
    if (!body.is_object()) refuse_field(name_, body, "an object");
    check_fields(body, name_ + ".", fields);
  }

  std::int64_t number(const char* field) const {
    const std::string name = name_ + "." + field;
    const std::int64_t number = whole_number(body_[field], name);
    if (number < INT32_MIN || number > INT32_MAX)
      refuse_field(name, body_[field], "a whole number");
    return number;
  }
  std::int64_t number(const char* field, std::int64_t otherwise) const {
    return has(field) ? number(field) : otherwise;
  }
  bool has(const char* field) const { return !body_[field].is_null(); }

  Stack stack() const {
    if (!has("stack")) return session_.stacks.front().shape.stack;
    const std::string* name = body_["stack"].as_text();
    const std::optional<Stack> stack = name != nullptr ? stack_of(*name) : std::nullopt;
    if (!stack) refuse_field(name_ + ".stack", body_["stack"], "the name of a stack");
    return *stack;
  }
  Place place() const {
    return {stack(), static_cast<int>(number("layer")), static_cast<int>(number("head"))};
  }
  EditedToken token() const {
    EditedToken token{.position = number("position")};
    if (!has("side")) return token;
    const std::string* side = body_["side"].as_text();
    if (side == nullptr || (*side != "tokens" && *side != "key_tokens"))
      refuse_field(name_ + ".side", body_["side"], "\"tokens\" or \"key_tokens\"");
    if (*side == "key_tokens") token.side = TokenSide::kKeyTokens;
    return token;
  }
  TokenSwap swap() const {
    const EditedToken at = token();
    if (has("id") == has("text"))
      refuse_field(name_, body_, "one of \"id\" and \"text\": the other token");
    if (has("id")) return {at, static_cast<std::int32_t>(number("id"))};
    return {at, one_token(session_, at.side, text_of(body_["text"], name_ + ".text"))};
  }

 private:
  std::string name_;
  const Json& body_;
  const Session& session_;
};

template <typename Edit, typename Read>
std::vector<Edit> list_of(const Json& body, const char* name, const Session& session,
                          const std::vector<std::string>& fields, Read read) {
  std::vector<Edit> edits;
  const Json& list = body[name];
  if (list.is_null()) return edits;
  if (!list.is_array()) refuse_field(name, list, "a list of edits");
  for (const Json& item : list.items())
    edits.push_back(
        read(EditBody(fmt::format("{}[{}]", name, edits.size()), item, session, fields)));
  return edits;
}

}  // namespace

Edits edits_of(const Json& body, const Session& session) {
  static const std::vector<std::string> kFields = {"ablate", "remove", "hide", "swap", "mask"};
  const EditBody checked("edits", body, session, kFields);
  Edits edits;
  edits.ablate = list_of<Place>(body, "ablate", session, {"stack", "layer", "head"},
                                [](const EditBody& of) { return of.place(); });
  edits.remove = list_of<RemovedEdge>(
      body, "remove", session, {"stack", "layer", "head", "query", "key"}, [](const EditBody& of) {
        return RemovedEdge{of.place(), of.number("query"), of.number("key")};
      });
  edits.hide = list_of<EditedToken>(body, "hide", session, {"side", "position"},
                                    [](const EditBody& of) { return of.token(); });
  edits.swap = list_of<TokenSwap>(body, "swap", session, {"side", "position", "id", "text"},
                                  [](const EditBody& of) { return of.swap(); });
  edits.mask = list_of<AddedMask>(
      body, "mask", session, {"stack", "layer", "head", "left", "right"}, [](const EditBody& of) {
        AddedMask mask{
            .stack = of.stack(), .left = of.number("left", -1), .right = of.number("right", -1)};
        if (of.has("layer")) mask.layer = static_cast<int>(of.number("layer"));
        if (of.has("head")) mask.head = static_cast<int>(of.number("head"));
        return mask;
      });
  if (edits.empty())
    fail("body", "edits", "empty", "at least one of ablate, remove, hide, swap, mask");
  return canonical(std::move(edits));
}

}  // namespace heed::serve
