// A driver for fuzz targets where libFuzzer is not at hand: runs every file it is given, then changes of them, and
// keeps the input that ended it in crash-input.
//
//   fuzz_plan -runs=1000 -seed=1 -max_total_time=60 -dict=fuzz/plan.dict -seed_inputs=FILE,FILE fuzz/corpus/plan
//
// Changes: bits and bytes, numbers at their limits, parts left out, doubled or moved, words of the dictionary, the rest
// of another file. It learns nothing of coverage; what it finds worth keeping belongs in the corpus.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestInput = 1 << 20;
constexpr unsigned kSlowestSeconds = 20;  // for one input: longer is a finding

std::string& current = *new std::string();  // a death callback reads it, however late

void Keep() {
  if (FILE* file = std::fopen("crash-input", "wb")) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
    std::fprintf(stderr, "fuzz: the input is in crash-input (%zu bytes)\n", current.size());
  }
}

extern "C" void OnSignal(int signal) {
  Keep();
  std::fprintf(stderr, signal == SIGALRM ? "fuzz: too slow\n" : "fuzz: signal %d\n", signal);
  std::_Exit(77);
}

struct Arguments {
  int64_t runs = -1;
  int64_t seconds = 0;
  uint64_t seed = 1;
  std::vector<std::string> words, files;
};

// "\x00ab" of a dictionary line, name="...".
std::string WordOf(const std::string& line) {
  const size_t begin = line.find('"'), end = line.rfind('"');
  std::string word;
  for (size_t i = begin + 1; begin != std::string::npos && i < end; ++i) {
    if (line[i] == '\\' && i + 3 < end + 1 && line[i + 1] == 'x') {
      word += static_cast<char>(std::strtol(line.substr(i + 2, 2).c_str(), nullptr, 16));
      i += 3;
    } else {
      if (line[i] == '\\' && i + 1 < end) ++i;
      word += line[i];
    }
  }
  return word;
}

std::string Contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto number = [&](std::string_view name, auto& value) {
      if (!word.starts_with(name)) return false;
      value = static_cast<std::decay_t<decltype(value)>>(std::strtoll(argv[i] + name.size(), nullptr, 10));
      return true;
    };
    if (number("-runs=", arguments.runs) || number("-max_total_time=", arguments.seconds) ||
        number("-seed=", arguments.seed)) {
      continue;
    }
    if (word.starts_with("-seed_inputs=")) {
      std::istringstream list(std::string(word.substr(13)));
      for (std::string file; std::getline(list, file, ',');) arguments.files.push_back(file);
    } else if (word.starts_with("-dict=")) {
      std::ifstream in(std::string(word.substr(6)));
      for (std::string line; std::getline(in, line);) {
        if (std::string found = WordOf(line); !found.empty() && line[0] != '#') arguments.words.push_back(found);
      }
    } else if (!word.starts_with("-") && fs::is_directory(word)) {
      for (const auto& entry : fs::recursive_directory_iterator(word)) {
        if (entry.is_regular_file()) arguments.files.push_back(entry.path().string());
      }
    } else if (!word.starts_with("-")) {
      arguments.files.emplace_back(word);
    }
  }
  return arguments;
}

class Changer {
 public:
  Changer(uint64_t seed, const std::vector<std::string>& words, const std::vector<std::string>& inputs)
      : random_(seed), words_(words), inputs_(inputs) {}

  std::string Next() {
    std::string input = inputs_.empty() ? std::string() : inputs_[Below(inputs_.size())];
    for (size_t times = size_t{1} << Below(4); times > 0; --times) Change(input);
    if (input.size() > kLongestInput) input.resize(kLongestInput);
    return input;
  }

 private:
  size_t Below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(random_() % n); }

  void Change(std::string& input) {
    static constexpr int64_t kNumbers[] = {0,       1,         -1,        127,       128,      255,
                                           1 << 16, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    const size_t at = Below(input.size() + 1);
    const size_t length = Below(std::min<size_t>(input.size() - at, 64) + 1);
    switch (Below(8)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << Below(8)));
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(Below(256));
        break;
      case 2: input.erase(at, length); break;
      case 3: input.insert(at, input.substr(at, length)); break;
      case 4: input.insert(Below(input.size() + 1), input.substr(at, length)); break;
      case 5:
        if (!words_.empty()) input.insert(at, words_[Below(words_.size())]);
        break;
      case 6:
        input.replace(at, std::min<size_t>(length, 20), std::to_string(kNumbers[Below(std::size(kNumbers))]));
        break;
      default:
        if (!inputs_.empty()) {
          const std::string& other = inputs_[Below(inputs_.size())];
          input = input.substr(0, at) + other.substr(std::min(at, other.size()));
        }
    }
  }

  std::mt19937_64 random_;
  const std::vector<std::string>& words_;
  const std::vector<std::string>& inputs_;
};

void Run(std::string input) {
  current = std::move(input);
  alarm(kSlowestSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(current.data()), current.size());
  alarm(0);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(Keep);
  for (int signal : {SIGALRM, SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, OnSignal);

  std::vector<std::string> inputs;
  for (const std::string& file : arguments.files) inputs.push_back(Contents(file));
  for (const std::string& input : inputs) Run(input);

  Changer changer(arguments.seed, arguments.words, inputs);
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  int64_t runs = 0;
  const bool timed = arguments.seconds > 0;
  while ((arguments.runs >= 0 && runs < arguments.runs) ||
         (arguments.runs < 0 && timed && elapsed() < static_cast<double>(arguments.seconds))) {
    Run(changer.Next());
    ++runs;
  }
  std::printf("%zu files, %lld changes of them, %.0f a second\n", inputs.size(), static_cast<long long>(runs),
              runs > 0 ? static_cast<double>(runs) / std::max(elapsed(), 1e-3) : 0.0);
  return 0;
}
