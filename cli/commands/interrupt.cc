#include "cli/commands/interrupt.h"

#include <csignal>

namespace onnx_mem {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void OnInterrupt(int) { interrupted.store(true, std::memory_order_relaxed); }

bool Listen() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  struct sigaction before = {};
  sigaction(SIGINT, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return false;  // started in the background
  return sigaction(SIGINT, &action, nullptr) == 0;
}

}  // namespace

const std::atomic<bool>& FirstInterrupt() {
  static const bool listens = Listen();
  (void)listens;
  return interrupted;
}

Diagnostic InterruptedNote() {
  return {.code = Code::kInterrupted,
          .severity = Severity::kWarning,
          .message = "interrupted: these are the plans that had been found",
          .details = {"way out: a longer search, or --iterations for one that ends by itself"}};
}

}  // namespace onnx_mem
