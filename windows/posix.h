// What of POSIX the sources call and MinGW's headers lack. Read before every source on Windows
// (cmake/OnnxMemLibrary.cmake).
#ifndef ONNX_MEM_WINDOWS_POSIX_H_
#define ONNX_MEM_WINDOWS_POSIX_H_

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define O_CLOEXEC (O_BINARY | O_NOINHERIT)  // every file that is opened so is read or written as bytes
#define O_NONBLOCK 0                        // no pipe has a name in a folder here
#define F_GETFL 3
#define F_SETFL 4
#define SIGHUP SIGTERM
#define SIG_BLOCK 0
#define SIG_SETMASK 2
#define SA_RESETHAND 0
#define SA_RESTART 0

inline int fcntl(int, int, int = 0) { return 0; }
inline int fchmod(int, mode_t) { return 0; }
inline char* realpath(const char* path, char* resolved) { return _fullpath(resolved, path, 0); }
ssize_t pread(int fd, void* bytes, size_t count, int64_t offset);

// A handler alone: nothing waits for a signal, and nothing can be held back.
struct sigaction {
  void (*sa_handler)(int);
  int sa_flags;
};
inline int sigaction(int number, const struct sigaction* now, struct sigaction* before) {
  if (before != nullptr) before->sa_handler = SIG_DFL;
  return now == nullptr || signal(number, now->sa_handler) != SIG_ERR ? 0 : -1;
}
using sigset_t = int;
inline int sigemptyset(sigset_t* signals) { return *signals = 0; }
inline int sigaddset(sigset_t*, int) { return 0; }
inline int sigprocmask(int, const sigset_t*, sigset_t*) { return 0; }

#endif  // ONNX_MEM_WINDOWS_POSIX_H_
