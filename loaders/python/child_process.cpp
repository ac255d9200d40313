#include "child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "failure.h"

extern char **environ;

namespace tesseract::python {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLongestOutput = size_t{1} << 20;

// A pipe whose ends other children don't inherit.
struct Pipe {
  int ends[2] = {-1, -1};

  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) {
      throw Failure{TESSERACT_ERROR_UNAVAILABLE,
                    std::string("no pipe to a child process: ") + std::strerror(errno)};
    }
  }
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
};

// The child gets default signals: a host that ignores SIGPIPE or blocks everything must not change
// how an interpreter behaves.
struct SpawnSettings {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnSettings(int output, int errors) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, errors, 2);
    posix_spawnattr_init(&attributes);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  SpawnSettings(const SpawnSettings &) = delete;
  SpawnSettings &operator=(const SpawnSettings &) = delete;
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
};

// Reads what is there; false at the end of the stream.
bool read_some(int descriptor, std::string &text) {
  char buffer[4096];
  const ssize_t count = read(descriptor, buffer, sizeof buffer);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (count == 0) return false;
  if (text.size() < kLongestOutput) text.append(buffer, static_cast<size_t>(count));
  return true;
}

// Reads both streams until they end; false when the time is up.
bool read_until(Clock::time_point deadline, Pipe &output, Pipe &errors, ChildOutput &result) {
  while (output.ends[0] >= 0 || errors.ends[0] >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waited[2] = {{output.ends[0], POLLIN, 0}, {errors.ends[0], POLLIN, 0}};
    if (poll(waited, 2, static_cast<int>(left)) < 0 && errno != EINTR) return false;
    if (waited[0].revents && !read_some(output.ends[0], result.output)) output.close_end(0);
    if (waited[1].revents && !read_some(errors.ends[0], result.errors)) errors.close_end(0);
  }
  return true;
}

// The exit code; -1 when a signal ended it.  A host that ignores SIGCHLD has its children reaped by
// the system: that the streams ended without trouble is then all there is to know, hence 0.
int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno == ECHILD) return 0;
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

ChildOutput run_child(const std::vector<std::string> &arguments, double seconds) {
  Pipe output, errors;
  std::vector<char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);

  pid_t child = 0;
  {
    SpawnSettings settings(output.ends[1], errors.ends[1]);
    const int code =
        posix_spawn(&child, argv[0], &settings.actions, &settings.attributes, argv.data(), environ);
    if (code != 0) {
      throw Failure{TESSERACT_ERROR_NOT_FOUND,
                    "can't run " + arguments[0] + ": " + std::strerror(code)};
    }
  }
  output.close_end(1);
  errors.close_end(1);

  ChildOutput result;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(seconds));
  result.timed_out = !read_until(deadline, output, errors, result);
  if (result.timed_out) kill(child, SIGKILL);
  const int code = wait_for(child);
  result.exit_code = result.timed_out ? -1 : code;
  return result;
}

}  // namespace tesseract::python
