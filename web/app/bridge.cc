// What a browser lacks of the machine that the program was written for: libraries that are loaded while it runs. It
// finds none, and says of the card in this machine what it says where there is no driver.
#include <dlfcn.h>
#include <sys/stat.h>

// Here a process starts with 0777, so that nobody may read what it writes, the page neither.
[[maybe_unused]] static const mode_t kUmaskAtStart = umask(022);

extern "C" {

void* dlopen(const char*, int) { return nullptr; }
void* dlsym(void*, const char*) { return nullptr; }
int dlclose(void*) { return 0; }

}  // extern "C"
