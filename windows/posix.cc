#include "windows/posix.h"

#include <io.h>
#include <windows.h>

#include "windows/dlfcn.h"
#include "windows/sys/ioctl.h"

void* dlopen(const char* path, int) { return reinterpret_cast<void*>(LoadLibraryA(path)); }

int dlclose(void* library) { return FreeLibrary(static_cast<HMODULE>(library)) ? 0 : -1; }

void* dlsym(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

const char* dlerror() { return "the library cannot be loaded"; }

// Each file has one reader, so that its place may be moved.
ssize_t pread(int fd, void* bytes, size_t count, int64_t offset) {
  if (_lseeki64(fd, offset, SEEK_SET) != offset) return -1;
  return _read(fd, bytes, static_cast<unsigned>(count));
}

int ioctl(int fd, int, winsize* size) {
  CONSOLE_SCREEN_BUFFER_INFO screen;
  if (!GetConsoleScreenBufferInfo(reinterpret_cast<HANDLE>(_get_osfhandle(fd)), &screen)) return -1;
  size->ws_row = static_cast<unsigned short>(screen.srWindow.Bottom - screen.srWindow.Top + 1);
  size->ws_col = static_cast<unsigned short>(screen.srWindow.Right - screen.srWindow.Left + 1);
  return 0;
}
