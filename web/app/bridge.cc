// What a browser lacks of the machine that the program was written for.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

// Here a process starts with 0777, so that nobody may read what it writes, the page neither.
[[maybe_unused]] static const mode_t kUmaskAtStart = umask(022);

extern "C" {

// Libraries that are loaded while it runs: it finds none, and says of the card in this machine what it says where there
// is no driver.
void* dlopen(const char*, int) { return nullptr; }
void* dlsym(void*, const char*) { return nullptr; }
int dlclose(void*) { return 0; }

// emscripten's takes the low 32 bits of `offset` alone. There is one thread.
ssize_t pread(int fd, void* buffer, size_t size, off_t offset) {
  const off_t before = lseek(fd, 0, SEEK_CUR);
  if (before < 0 || lseek(fd, offset, SEEK_SET) < 0) return -1;
  const ssize_t got = read(fd, buffer, size);
  lseek(fd, before, SEEK_SET);
  return got;
}

}  // extern "C"
