// The program heed: finds the command, parses its arguments, runs it, and turns any failure into
// one line on stderr and an exit status.
#include "cli/program.h"

#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <new>
#include <span>
#include <utility>

#include "base/wording.h"
#include "cli/command.h"
#include "cli/options/arguments.h"
#include "cli/terminal/output.h"
#include "heed/error.h"
#include "heed/threads.h"

namespace heed::cli {
namespace {

constexpr int kDone = 0;
constexpr int kWorkFailed = 1;
constexpr int kBadInput = 2;

int report(std::string_view command, std::string message, int status) {
  tell("{}\n", error_line(command, std::move(message)));
  return status;
}

std::string help() {
  std::string text =
      "heed: exact attention that you can see through\n\n"
      "Usage: heed COMMAND ...        heed COMMAND --help shows its options and examples\n\n"
      "Begin with:  heed look \"The cat sat on the mat because it was tired.\"\n"
      "             heed serve          the same in the browser\n\n";
  for (const Command& command : commands())
    text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  text +=
      "\n  --version  prints the version\n"
      "  --licences prints the licences of what heed links and bundles\n\n"
      "Exit status: 0 done, 1 the work failed, 2 bad arguments or bad input, 130 after Ctrl-C.\n";
  return text;
}

int run_command(const Command& command, std::vector<std::string> arguments) {
  OptionList options;
  const Run run = command.declare(options);
  const std::string help_text = help_of(command, options);  // shows the defaults
  Given given(options);
  try {
    if (!read_arguments(std::string("heed ") + command.name, options, std::move(arguments),
                        given)) {
      print(help_text);
      return kDone;
    }
    if (given.knows("--threads")) thread_count();  // for an invalid $HEED_THREADS
    return run(given);
  } catch (const Error& error) {
    throw in_options(given, command.name, error);
  }
}

int guarded(const Command& command, const std::vector<std::string>& arguments) {
  try {
    return run_command(command, arguments);
  } catch (const Error& error) {
    return report(command.name, error.what(), exit_status(error.code()));
  } catch (const std::bad_alloc&) {
    return report(command.name, "out of memory", kWorkFailed);
  } catch (const std::exception& error) {
    return report(command.name, error.what(), kWorkFailed);
  }
}

// Suggests what to write instead of an unknown command: ", the nearest is look".
std::string hint_of(const std::string& found, std::span<const std::string_view> names) {
  if (found == "version" || found == "-v" || found == "-V") return ", try heed --version";
  if (found.find(' ') != std::string::npos)
    return fmt::format("; to look at a text: heed look \"{}\"", clipped(found));
  const std::string_view nearest = nearest_name(names, found);
  return nearest.empty() ? "" : fmt::format(", the nearest is {}", nearest);
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" ||
      arguments[0] == "help") {
    print(help());
    return kDone;
  }
  if (arguments[0] == "--version") {
    print(fmt::format("heed {}\n", version()));
    return kDone;
  }
  if (arguments[0] == "--licences") {
    print(notices());
    return kDone;
  }
  std::vector<std::string_view> names;
  for (const Command& command : commands()) {
    if (arguments[0] == command.name)
      return guarded(command, {arguments.begin() + 1, arguments.end()});
    names.emplace_back(command.name);
  }
  return report({},
                fmt::format("unknown command \"{}\"{}; commands: {}", clipped(arguments[0]),
                            hint_of(arguments[0], names), joined(names, ", ")),
                kBadInput);
}

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  std::signal(SIGPIPE, SIG_DFL);  // `heed look ... | head` ends silently
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is a write error, not a signal
  catch_interrupts();
  try {
    if (arguments.size() == 2 && arguments[0] == "help")  // heed help look
      return dispatch({arguments[1], "--help"});
    return dispatch(arguments);
  } catch (const std::exception& error) {
    tell("heed: {}\n", error.what());
    return kWorkFailed;
  }
}

}  // namespace heed::cli
