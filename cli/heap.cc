#include "cli/heap.h"

#include <cstddef>  // and with it __GLIBC__

#ifdef ONNX_MEM_TCMALLOC
#include <gperftools/malloc_extension.h>
#elif defined(__GLIBC__)
#include <malloc.h>
#endif

namespace onnx_mem {

void KeepFreedMemory() {
#ifdef ONNX_MEM_TCMALLOC
  // One thread: what it has freed need not go through the lists that threads share.
  MallocExtension::instance()->SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", size_t{1} << 30);
  MallocExtension::instance()->SetMemoryReleaseRate(0);
#elif defined(__GLIBC__)
  constexpr int kNever = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kNever);
  mallopt(M_TRIM_THRESHOLD, kNever);
#endif
}

}  // namespace onnx_mem
