#include "cli/host/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_format.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

absl::Status WriteFailed(const std::string& path, int error) {
  const std::string why = error == ENOENT ? "no such directory" : std::strerror(error);
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kWriteFailed,
                     absl::StrFormat("cannot write '%s': %s", path, why));
}

// 0, or the error.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    text.remove_prefix(static_cast<size_t>(wrote));
  }
  return 0;
}

// Interrupts wait until a file is whole or gone.
class Uninterrupted {
 public:
  Uninterrupted() {
    sigset_t signals;
    sigemptyset(&signals);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    sigprocmask(SIG_BLOCK, &signals, &before_);
  }
  ~Uninterrupted() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

 private:
  sigset_t before_;
};

bool IsOneOf(const struct stat& file, const std::vector<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    struct stat other;
    return !path.empty() && stat(path.c_str(), &other) == 0 && other.st_dev == file.st_dev &&
           other.st_ino == file.st_ino;
  });
}

absl::Status WriteInto(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe that nobody reads: ENXIO
  if (fd < 0) return WriteFailed(path, errno);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  const int error = WriteAll(fd, text);
  return close(fd) == 0 && error == 0 ? absl::OkStatus() : WriteFailed(path, error != 0 ? error : errno);
}

// Where a link leads; its target is replaced, and not the link.
std::string Target(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

}  // namespace

absl::Status WriteOutputFile(const std::string& path, std::string_view text, const std::vector<std::string>& inputs) {
  struct stat existing;
  const bool exists = stat(path.c_str(), &existing) == 0;
  if (exists && IsOneOf(existing, inputs)) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kIsInput,
                       absl::StrFormat("'%s' is read by this very command, and would be replaced", path),
                       {"way out: another name behind -o"});
  }
  if (exists && S_ISDIR(existing.st_mode)) return WriteFailed(path, EISDIR);
  if (exists && !S_ISREG(existing.st_mode)) return WriteInto(path, text);
  const Uninterrupted uninterrupted;
  const std::string target = exists ? Target(path) : path;
  std::string beside = target + ".XXXXXX";
  const int fd = mkstemp(beside.data());
  if (fd < 0) {
    // A folder where nothing new may be made, and a file in it that may be written.
    return exists ? WriteInto(path, text) : WriteFailed(path, errno);
  }
  const mode_t mask = umask(0);
  umask(mask);
  int error = WriteAll(fd, text);
  if (error == 0 && fchmod(fd, exists ? existing.st_mode & 07777 : 0666 & ~mask) != 0) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  std::error_code failed;
  if (error == 0) std::filesystem::rename(beside, target, failed);  // over what is there, on every system
  if (failed) error = failed.default_error_condition().value();
  if (error == 0) return absl::OkStatus();
  unlink(beside.c_str());
  return WriteFailed(path, error);
}

}  // namespace onnx_mem
