// operator new and delete of the program. An analysis makes millions of small objects (names, lists of ids) and soon
// lets go of them: a third of its time went into a general heap. Here a block of up to 1 KiB comes from a list of
// blocks of its size, and goes back to it.
//
//   address space, reserved once     | span: 48-byte blocks | span: 16 | span: 48 | ...
//   class of each span                 2                      0          2
//
// The class of a block is that of its span, so no block has a header, and no size need be known to free one. Larger
// blocks, and all where the space cannot be reserved (ulimit -v), are malloc's. Memory is never given back.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr size_t kGrainBytes = 16;  // what new must align to, and the step between classes
constexpr size_t kLargestBytes = 1024;
constexpr size_t kNumClasses = kLargestBytes / kGrainBytes;
constexpr size_t kSpanBytes = size_t{1} << 15;
constexpr size_t kSpaceBytes = size_t{1} << 36;
constexpr size_t kNumSpans = kSpaceBytes / kSpanBytes;
// Beyond the first few, the system backs so much with memory at once, as one huge page where it has them: a graph of
// 100,000 nodes spent a tenth of its time on faults, and more on what the translation cache missed. A small run takes
// page by page what it uses: fetching ahead cost LeNet's `-q` half a millisecond of three.
constexpr size_t kHugeBytes = size_t{2} << 20;
constexpr size_t kHugeFrom = 4 * kHugeBytes;

struct Free {
  Free* next;
};

struct Class {
  Free* free = nullptr;
  std::byte* unused = nullptr;  // the rest of the newest span
  std::byte* end = nullptr;
};

std::byte* Reserve() {
  void* space = mmap(nullptr, kSpaceBytes + kHugeBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return nullptr;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(space) + kHugeBytes - 1) / kHugeBytes * kHugeBytes;
  return reinterpret_cast<std::byte*>(begin);
}

// Asks for the memory of what lies from `offset` on, where a huge page begins there. A hint: nothing depends on it, and
// a system that refuses leaves no error behind for whoever reads errno after `new`.
void Fetch([[maybe_unused]] std::byte* space, [[maybe_unused]] size_t offset) {
#if defined(MADV_POPULATE_WRITE) && defined(MADV_HUGEPAGE)
  if (offset < kHugeFrom || offset % kHugeBytes != 0) return;
  const int before = errno;
  if (offset == kHugeFrom) madvise(space + offset, kSpaceBytes - offset, MADV_HUGEPAGE);
  madvise(space + offset, kHugeBytes, MADV_POPULATE_WRITE);
  errno = before;
#endif
}

// Of the reserved space; until there is one, where no block lies.
std::atomic<uintptr_t> space_begin{UINTPTR_MAX - kSpaceBytes + 1};
std::atomic<size_t> next_span{0};
std::array<uint8_t, kNumSpans> class_of_span;
thread_local std::array<Class, kNumClasses> classes;

// nullptr: there is no space.
std::byte* TakeSpan(size_t size_class) {
  static std::byte* const space = [] {
    std::byte* reserved = Reserve();
    if (reserved != nullptr) space_begin.store(reinterpret_cast<uintptr_t>(reserved), std::memory_order_relaxed);
    return reserved;
  }();
  if (space == nullptr) return nullptr;
  const size_t span = next_span.fetch_add(1, std::memory_order_relaxed);
  if (span >= kNumSpans) return nullptr;
  std::byte* begin = space + span * kSpanBytes;
  Fetch(space, span * kSpanBytes);
  class_of_span[span] = static_cast<uint8_t>(size_class);
  return begin;
}

void* FromHeap(size_t bytes) {
  while (true) {
    if (void* block = std::malloc(bytes)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* FromNewSpan(Class& own, size_t size_class) {
  const size_t bytes = (size_class + 1) * kGrainBytes;
  std::byte* span = TakeSpan(size_class);
  if (span == nullptr) return FromHeap(bytes);
  own.unused = span + bytes;
  own.end = span + kSpanBytes / bytes * bytes;
  return span;
}

}  // namespace

void* operator new(size_t bytes) {
  if (bytes > kLargestBytes) return FromHeap(bytes);
  const size_t size_class = bytes == 0 ? 0 : (bytes - 1) / kGrainBytes;
  Class& own = classes[size_class];
  if (Free* block = own.free) {
    own.free = block->next;
    return block;
  }
  if (own.unused == own.end) return FromNewSpan(own, size_class);
  std::byte* block = own.unused;
  own.unused += (size_class + 1) * kGrainBytes;
  return block;
}

void operator delete(void* block) noexcept {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(block) - space_begin.load(std::memory_order_relaxed);
  if (offset >= kSpaceBytes) return std::free(block);
  Class& own = classes[class_of_span[offset / kSpanBytes]];
  own.free = new (block) Free{own.free};
}

void operator delete(void* block, size_t) noexcept { operator delete(block); }
void* operator new[](size_t bytes) { return operator new(bytes); }
void operator delete[](void* block) noexcept { operator delete(block); }
void operator delete[](void* block, size_t) noexcept { operator delete(block); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](size_t bytes, const std::nothrow_t& tag) noexcept { return operator new(bytes, tag); }
void operator delete(void* block, const std::nothrow_t&) noexcept { operator delete(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { operator delete(block); }

#endif
