// Libraries that are loaded while the program runs.
#ifndef ONNX_MEM_WINDOWS_DLFCN_H_
#define ONNX_MEM_WINDOWS_DLFCN_H_

#define RTLD_NOW 0
#define RTLD_LOCAL 0

void* dlopen(const char* path, int flags);
int dlclose(void* library);
void* dlsym(void* library, const char* name);
const char* dlerror();

#endif  // ONNX_MEM_WINDOWS_DLFCN_H_
