#include "cli/progress.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

namespace onnx_mem {

bool StandardErrorShowsProgress() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

Progress::Progress(std::FILE* to, std::string text, std::chrono::milliseconds after)
    : to_(to), text_(std::move(text)), after_(after) {
  if (to_ == nullptr) return;
  try {
    thread_ = std::thread([this] { Show(); });
  } catch (const std::system_error&) {  // no thread to be had: nothing is shown
  }
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

void Progress::Show() {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (ends_.wait_for(lock, after_, [this] { return ended_; })) return;
  do {
    const auto passed = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
    std::fprintf(to_, "\r%s %lld s\x1b[K", text_.c_str(), static_cast<long long>(passed.count()));
    std::fflush(to_);
  } while (!ends_.wait_for(lock, std::chrono::seconds(1), [this] { return ended_; }));
  std::fputs("\r\x1b[K", to_);
  std::fflush(to_);
}

}  // namespace onnx_mem
