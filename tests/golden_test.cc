// Runs one golden file: a command line, the files it needs, and all that it must print.
//
//   golden_test PROGRAM_FOLDER MODELS_FOLDER tests/golden/NAME.txt
//
//   # A pointer of Git LFS is known from a damaged file.
//   $ onnx-mem pointer.onnx
//   ==== file pointer.onnx
//   version https://git-lfs.github.com/spec/v1
//   ==== stdout
//   ==== stderr
//   error: 'pointer.onnx' is a Git LFS pointer, not the model
//   ==== exit 2
//
// The command runs in a shell in an empty folder that has the named files and testdata/models as models/; no path of
// this machine can get into the output. With ONNX_MEM_UPDATE_GOLDEN=1 the file is rewritten with what was printed.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr char kMark[] = "==== ";
// An output whose last line is not ended is written with this line after it.
constexpr char kNoNewline[] = "==== no newline at the end\n";

struct Case {
  std::string head;                                        // comments, verbatim
  std::string command;                                     // after "$ "
  std::vector<std::pair<std::string, std::string>> files;  // name, content
  std::string standard_output;
  std::string standard_error;
  std::string exit_code;
};

[[noreturn]] void Die(const std::string& message) {
  std::cerr << message << "\n";
  std::exit(2);
}

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) Die("cannot read " + path.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) Die("cannot write " + path.string());
}

Case ParseCase(const std::string& text) {
  Case result;
  std::string* section = nullptr;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line + "\n" == kNoNewline && section != nullptr && !section->empty()) {
      section->pop_back();
    } else if (line.starts_with(kMark)) {
      const std::string name = line.substr(sizeof(kMark) - 1);
      if (name == "stdout") {
        section = &result.standard_output;
      } else if (name == "stderr") {
        section = &result.standard_error;
      } else if (name.starts_with("exit ")) {
        result.exit_code = name.substr(5);
        section = nullptr;
      } else if (name.starts_with("file ")) {
        section = &result.files.emplace_back(name.substr(5), "").second;
      } else {
        Die("unknown section: " + line);
      }
    } else if (section != nullptr) {
      *section += line + "\n";
    } else if (line.starts_with("$ ")) {
      result.command = line.substr(2);
    } else {
      result.head += line + "\n";
    }
  }
  if (result.command.empty()) Die("no line starts with '$ '");
  return result;
}

std::string Section(const std::string& name, const std::string& text) {
  std::string out = kMark + name + "\n" + text;
  if (!text.empty() && text.back() != '\n') out += std::string("\n") + kNoNewline;
  return out;
}

std::string FormatCase(const Case& c) {
  std::string out = c.head + "$ " + c.command + "\n";
  for (const auto& [name, content] : c.files) out += Section("file " + name, content);
  out += Section("stdout", c.standard_output);
  out += Section("stderr", c.standard_error);
  return out + kMark + "exit " + c.exit_code + "\n";
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "onnx_mem_golden_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) Die("cannot make a temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// `wanted` with what the command really printed.
Case RunCase(const Case& wanted, const fs::path& models) {
  const TemporaryFolder folder;
  const fs::path work = folder.path() / "work";
  fs::create_directory(work);
  fs::create_directory_symlink(models, work / "models");
  for (const auto& [name, content] : wanted.files) WriteFile(work / name, content);
  WriteFile(folder.path() / "command", wanted.command + "\n");
  const std::string shell = "cd '" + work.string() + "' && sh ../command >../stdout 2>../stderr </dev/null";
  const int status = std::system(shell.c_str());
  Case actual = wanted;
  actual.standard_output = ReadFile(folder.path() / "stdout");
  actual.standard_error = ReadFile(folder.path() / "stderr");
  actual.exit_code = WIFEXITED(status) ? std::to_string(WEXITSTATUS(status)) : "by a signal";
  return actual;
}

// Nothing of this machine may show in the output: no terminal, no colours, no locale of its own.
void SetEnvironment(const std::string& program_folder) {
  const char* path = std::getenv("PATH");
  setenv("PATH", (program_folder + ":" + (path ? path : "")).c_str(), 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  setenv("TERM", "dumb", 1);
  for (const char* name :
       {"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "COLUMNS", "GITHUB_ACTIONS", "CI"}) {
    unsetenv(name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) Die("usage: golden_test PROGRAM_FOLDER MODELS_FOLDER FILE");
  const fs::path file = argv[3];
  const std::string text = ReadFile(file);
  const char* update = std::getenv("ONNX_MEM_UPDATE_GOLDEN");
  SetEnvironment(fs::absolute(argv[1]).string());
  const Case result = RunCase(ParseCase(text), fs::absolute(argv[2]));
  if (result.exit_code == "127") Die("a command was not found: " + result.standard_error);
  const std::string actual = FormatCase(result);
  if (actual == text) return 0;
  if (update != nullptr && std::string(update) == "1") {
    WriteFile(file, actual);
    std::cout << "updated " << file << "\n";
    return 0;
  }
  const TemporaryFolder folder;
  WriteFile(folder.path() / "actual", actual);
  std::cout << "the output has changed (ONNX_MEM_UPDATE_GOLDEN=1 accepts it):\n" << std::flush;
  const std::string diff =
      "diff -u --label expected --label actual '" + file.string() + "' '" + (folder.path() / "actual").string() + "'";
  if (std::system(diff.c_str()) < 0) std::cout << actual;
  return 1;
}
