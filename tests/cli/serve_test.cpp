// heed serve as a user starts and ends it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>

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

  // Its status after the signal.
  int end(int signal) const {
    ::kill(child_, signal);
    int status = 0;
    ::waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string port() const {
    const auto begin = address.find(':', 7) + 1;
    return address.substr(begin, address.find('/', begin) - begin);
  }

  std::string address;

 private:
  pid_t child_ = -1;
};

int connected(const std::string& port) {
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return client;
}

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

// Requests that never end, and an answer that no client reads.
TEST(ServeProgram, EndsWhateverClientsDo) {
  const Serving serving({"--port", "0", "--text", "the cat"});
  std::vector<int> clients;
  for (const std::string half : {"", "GET /api/mo", "GET / HTTP/1.1\r\nHost: a\r\n",
                                 "POST /api/v1/sessions HTTP/1.1\r\nContent-Length: 99\r\n\r\n{"}) {
    const int client = connected(serving.port());
    ASSERT_EQ(::send(client, half.data(), half.size(), 0), static_cast<ssize_t>(half.size()));
    clients.push_back(client);
  }
  httplib::Client later("127.0.0.1", std::stoi(serving.port()));
  later.set_read_timeout(300);
  EXPECT_TRUE(later.Get("/"));  // connections are taken in turn: the server has the others
  EXPECT_EQ(serving.end(SIGINT), 130);
  for (const int client : clients) ::close(client);
}

// Each listing reads the model's folder; requests are abandoned before their answers.
TEST(ServeProgram, APipeInAModelsFolderHoldsNobody) {
  const std::filesystem::path models = scratch() / "models-with-a-pipe";
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json", "README.md"}) {
    std::filesystem::create_directories(models / name);
    std::filesystem::copy(test::tiny_model(), models / name,
                          std::filesystem::copy_options::recursive);
    std::filesystem::remove(models / name / name);
    ASSERT_EQ(::mkfifo((models / name / name).c_str(), 0600), 0);
  }
  setenv("HEED_MODELS", models.c_str(), 1);
  const Answer listed = heed({"models"});
  EXPECT_EQ(listed.status, 0) << listed.error;
  EXPECT_THAT(listed.out, testing::HasSubstr("README.md"));
  const Serving serving({"--port", "0", "--model", test::tiny_model()});
  unsetenv("HEED_MODELS");
  const std::string token = serving.address.substr(serving.address.find("token=") + 6);
  const httplib::Headers owner = {{"Authorization", "Bearer " + token}};
  for (int abandoned = 0; abandoned < 80; ++abandoned) {
    const int client = connected(serving.port());
    const std::string request = fmt::format(
        "GET /api/v1/models/found HTTP/1.1\r\nHost: localhost:{}\r\n"
        "Authorization: Bearer {}\r\n\r\n",
        serving.port(), token);
    EXPECT_EQ(::send(client, request.data(), request.size(), 0), std::ssize(request));
    ::close(client);
  }
  httplib::Client client("127.0.0.1", std::stoi(serving.port()));
  client.set_read_timeout(300);
  const auto found = client.Get("/api/v1/models/found", owner);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->body, testing::HasSubstr("\"README.md\""));
  EXPECT_THAT(found->body, testing::Not(testing::HasSubstr("\"config.json\"")));
  EXPECT_EQ(serving.end(SIGTERM), 130);
}

// More silent connections than the program may have: each new one closes the oldest stranger, and
// not the connection that has shown the token.
TEST(ServeProgram, SilentConnectionsDoNotLockItsUserOut) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few = {.rlim_cur = 100, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  const Serving serving({"--port", "0", "--model", test::tiny_model()});
  ::setrlimit(RLIMIT_NOFILE, &before);
  const std::string token = serving.address.substr(serving.address.find("token=") + 6);
  const std::string request = fmt::format(
      "GET /api/v1/models HTTP/1.1\r\nHost: localhost:{}\r\n"
      "Authorization: Bearer {}\r\n\r\n",
      serving.port(), token);
  const auto ask = [&](int client) {
    EXPECT_EQ(::send(client, request.data(), request.size(), MSG_NOSIGNAL), std::ssize(request));
    std::array<char, 15> status{};
    EXPECT_EQ(::recv(client, status.data(), status.size(), MSG_WAITALL), std::ssize(status));
    return std::string(status.data(), status.size());
  };
  const int known = connected(serving.port());
  EXPECT_EQ(ask(known), "HTTP/1.1 200 OK");
  std::vector<int> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(connected(serving.port()));
  pollfd first = {.fd = silent.front(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&first, 1, 3000), 1);  // closed before its five seconds are over
  const int fresh = connected(serving.port());
  EXPECT_EQ(ask(fresh), "HTTP/1.1 200 OK");
  pollfd still = {.fd = known, .events = POLLRDHUP, .revents = 0};
  EXPECT_EQ(::poll(&still, 1, 0), 0);
  for (const int client : silent) ::close(client);
  for (const int client : {known, fresh}) ::close(client);
  EXPECT_EQ(serving.end(SIGTERM), 130);
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
              testing::StartsWith("heed serve: --host 0.0.0.0: HTTP is not encrypted: anyone"));
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
            "can read its first or its last tokens\n");
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
