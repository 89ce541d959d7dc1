// heed serve as a user starts and ends it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <thread>

#include "cli/program.h"
#include "cli/tiny_model.h"
#include "support/places.h"

namespace heed {
namespace {

using test::Answer;
using test::heed;
using test::scratch;

// `heed serve` in the background, its address read from its first line.
class Serving {
 public:
  explicit Serving(std::vector<std::string> arguments, const std::string& errors = "") {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    setenv("XDG_STATE_HOME", scratch().c_str(), 1);
    child_ = fork();
    if (child_ == 0) {
      ::dup2(ends[1], 1);
      ::close(ends[0]);
      if (!errors.empty()) ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
      arguments.insert(arguments.begin(), {"heed", "serve"});
      std::vector<char*> words;
      for (std::string& argument : arguments) words.push_back(argument.data());
      words.push_back(nullptr);
      ::execv(HEED_BINARY_DIR "/heed", words.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    for (char letter = 0; ::read(ends[0], &letter, 1) == 1 && letter != '\n';) address += letter;
    ::close(ends[0]);
  }

  // Its status after the signal; -1 when it has not ended in five seconds.
  int end(int signal) const {
    ::kill(child_, signal);
    for (int tries = 0; tries < 500; ++tries) {
      int status = 0;
      if (::waitpid(child_, &status, WNOHANG) == child_)
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    return -1;
  }

  std::string port() const {
    const auto begin = address.find(':', 7) + 1;
    return address.substr(begin, address.find('/', begin) - begin);
  }

  std::string address;

 private:
  pid_t child_ = -1;
};

TEST(ServeProgram, PrintsItsAddressAndEndsWithStatus130AtCtrlC) {
  const Serving serving({"--port", "0"});
  EXPECT_TRUE(serving.address.starts_with("http://127.0.0.1:")) << serving.address;
  EXPECT_NE(serving.address.find("/?token="), std::string::npos);
  EXPECT_EQ(serving.end(SIGINT), 130);
}

TEST(ServeProgram, EndsTheSameWayAtSigterm) {
  const Serving serving({"--port", "0", "--text", "the cat"});
  EXPECT_EQ(serving.end(SIGTERM), 130);
}

// A request that never ends, and a client that never reads its answer.
TEST(ServeProgram, EndsWithinASecondWhateverClientsDo) {
  const Serving serving({"--port", "0", "--text", "the cat"});
  std::vector<int> clients;
  for (const std::string half : {"", "GET /api/mo", "GET / HTTP/1.1\r\nHost: a\r\n",
                                 "POST /api/v1/sessions HTTP/1.1\r\nContent-Length: 99\r\n\r\n{"}) {
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(serving.port())));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::send(client, half.data(), half.size(), 0), static_cast<ssize_t>(half.size()));
    clients.push_back(client);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the server has begun to read
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(serving.end(SIGINT), 130);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1500));
  for (const int client : clients) ::close(client);
}

TEST(ServeProgram, SaysThatANetworkSeesWhatItSends) {
  const auto standard_error = [](const std::string& host) {
    const std::filesystem::path file = scratch() / "serve-stderr";
    const Serving serving({"--port", "0", "--host", host}, file.string());
    EXPECT_EQ(serving.end(SIGINT), 130);
    return test::content(file);
  };
  for (const char* host : {"127.0.0.1", "localhost"}) EXPECT_EQ(standard_error(host), "") << host;
  EXPECT_THAT(standard_error("0.0.0.0"),
              testing::StartsWith("heed serve: --host 0.0.0.0: HTTP is not encrypted: whoever"));
}

TEST(ServeProgram, SaysWhatIsWrongWithItsTextsAndStartsAllTheSame) {
  const auto told = [](std::vector<std::string> arguments) {
    const std::filesystem::path file = scratch() / "serve-texts";
    arguments.insert(arguments.end(), {"--port", "0"});
    const Serving serving(arguments, file.string());
    EXPECT_TRUE(serving.address.starts_with("http://")) << serving.address;
    EXPECT_EQ(serving.end(SIGINT), 130);
    return test::content(file);
  };
  const std::string long_text(60, 'z');
  const std::string fits = "the cat";
  EXPECT_EQ(told({"--text", fits, "--model", test::tiny_model()}), "");
  EXPECT_EQ(told({"--text", long_text, "--model", test::tiny_model()}),
            "heed serve: --text is 60 tokens, expected at most 40 (tiny's positions); the page "
            "reads its first or its last tokens where asked to\n");
  EXPECT_EQ(
      told({"--text", fits, "--target", long_text, "--model", test::tiny_translator()}),
      "heed serve: --target is 61 tokens, expected at most 40 (tiny-translator's positions)\n");
  EXPECT_EQ(told({"--text", "z", "--pair", long_text + "zzzzz", "--model", test::tiny_encoder()}),
            "heed serve: --pair is 65 tokens, expected at most 63 beside 1 of the other text and 0 "
            "that the tokenizer adds (tiny-reader's positions are 64)\n");
}

TEST(ServeProgram, APortInUseIsOneLineAndStatusTwo) {
  const Serving serving({"--port", "0"});
  const Answer answer = heed({"serve", "--port", serving.port()});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error,
            "heed serve: --port is " + serving.port() +
                ", which is in use, expected another one, or 0 for one that is free\n");
  EXPECT_EQ(serving.end(SIGINT), 130);
}

TEST(ServeProgram, BadInputIsOneLineAndStatusTwo) {
  const auto expect = [](const std::vector<std::string>& arguments, const std::string& line,
                         const std::string& shell = "") {
    const Answer answer = heed(arguments, shell);
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error, "heed serve: " + line + "\n");
  };
  expect({"serve", "--text", "half \xf0\x9f"},
         "--text: byte 5 is 0xF0, which is not valid UTF-8 there");
  std::ofstream(scratch() / "latin1") << "caf\xe9";
  expect({"serve", "--text", "-"}, "--text: byte 3 is 0xE9, which is not valid UTF-8 there",
         "< " + (scratch() / "latin1").string());
  expect({"serve", "--text", "a", "--file", "b"},
         "--text and --file are both given, expected one of them");
}

}  // namespace
}  // namespace heed
