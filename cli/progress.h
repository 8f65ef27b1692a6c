// A line on a terminal that says that the program is at work, from the first second on; it disappears when the work is
// done.
#ifndef ONNX_MEM_CLI_PROGRESS_H_
#define ONNX_MEM_CLI_PROGRESS_H_

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace onnx_mem {

// Whether standard error is a terminal on which a line can be written over.
bool StandardErrorShowsProgress();

class Progress {
 public:
  // Writes "TEXT 3 s" to `to`, each second anew, once `after` has passed. `to` is null: nothing is shown.
  Progress(std::FILE* to, std::string text, std::chrono::milliseconds after = std::chrono::seconds(1));
  ~Progress();  // takes the line away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void Show();

  std::FILE* const to_;
  const std::string text_;
  const std::chrono::milliseconds after_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ended_ = false;
  std::thread thread_;  // last: it reads the others
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_PROGRESS_H_
