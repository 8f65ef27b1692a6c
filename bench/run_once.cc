#include "bench/run_once.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

namespace onnx_mem {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Of a process that has ended and that nobody has waited for yet.
int64_t ReadBytesOf(pid_t process) {
  std::ifstream counters("/proc/" + std::to_string(process) + "/io");
  std::string name;
  for (int64_t value = 0; counters >> name >> value;) {
    if (name == "rchar:") return value;
  }
  return 0;
}

}  // namespace

ProcessRun RunOnce(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    const int sink = open("/dev/null", O_WRONLY);
    dup2(sink, STDOUT_FILENO);
    dup2(sink, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  rusage usage = {};
  siginfo_t ended;
  if (child > 0) waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  const int64_t read_bytes = child > 0 ? ReadBytesOf(child) : 0;
  if (child < 0 || wait4(child, &status, 0, &usage) != child) return {};
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  return {wall.count(), Seconds(usage.ru_utime) + Seconds(usage.ru_stime), usage.ru_maxrss * int64_t{1024}, read_bytes,
          WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

}  // namespace onnx_mem
