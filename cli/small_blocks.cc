// operator new and delete of the program. An analysis makes millions of small objects (names, lists of ids) and soon
// lets go of them: a third of its time went into a general heap. Here a block of up to 1 KiB comes from a span of
// blocks of its size, and goes back to it.
//
//   address space, reserved once     | span: 48-byte blocks | span: 16 | span: 48 | ...
//   class of each span                 2                      0          2
//
// What is known of a block is that of its span, so no block has a header, and no size need be known to free one. Blocks
// of one span are handed out one after the other: what is made together lies together. A span whose last block has
// come back serves any class. Larger blocks, and all where the space cannot be reserved (ulimit -v), are malloc's.
// Memory is never given back.
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

struct Span {
  Free* free = nullptr;          // blocks that came back
  Span* next = nullptr;          // in the list that it is in
  Span* previous = nullptr;
  uint32_t owner = 0;            // the thread that hands out its blocks
  uint32_t unused = 0;           // where the blocks begin that nobody has had
  uint16_t live = 0;
  uint8_t size_class = 0;
  bool listed = false;           // in its class's list
};

// The spans of one class that have a block left. The first is that in use.
struct Class {
  Span* spans = nullptr;
  Free* strangers = nullptr;  // blocks of other threads' spans that were freed here
};

struct Thread {
  std::array<Class, kNumClasses> classes;
  Span* empty = nullptr;  // spans that serve no class now
  uint32_t id = 0;        // 0: it has no spans
};

// The space, and behind it what is known of each span.
std::byte* Reserve() {
  void* space = mmap(nullptr, kSpaceBytes + kNumSpans * sizeof(Span) + kHugeBytes, PROT_READ | PROT_WRITE,
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
std::atomic<uint32_t> last_thread{0};
constinit thread_local Thread this_thread;

std::byte* Space() { return reinterpret_cast<std::byte*>(space_begin.load(std::memory_order_relaxed)); }
Span* Spans() { return reinterpret_cast<Span*>(Space() + kSpaceBytes); }
std::byte* BytesOf(const Span& span) { return Space() + static_cast<size_t>(&span - Spans()) * kSpanBytes; }

// nullptr: there is no space.
Span* NewSpan() {
  static std::byte* const space = [] {
    std::byte* reserved = Reserve();
    if (reserved != nullptr) space_begin.store(reinterpret_cast<uintptr_t>(reserved), std::memory_order_relaxed);
    return reserved;
  }();
  if (space == nullptr) return nullptr;
  const size_t span = next_span.fetch_add(1, std::memory_order_relaxed);
  if (span >= kNumSpans) return nullptr;
  Fetch(space, span * kSpanBytes);
  return new (Spans() + span) Span;
}

void* FromHeap(size_t bytes) {
  while (true) {
    if (void* block = std::malloc(bytes)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

size_t BlockBytes(size_t size_class) { return (size_class + 1) * kGrainBytes; }

void Enlist(Span& span, Class& own) {
  span.listed = true;
  span.previous = nullptr;
  span.next = own.spans;
  if (own.spans != nullptr) own.spans->previous = &span;
  own.spans = &span;
}

void Delist(Span& span, Class& own) {
  span.listed = false;
  (span.previous != nullptr ? span.previous->next : own.spans) = span.next;
  if (span.next != nullptr) span.next->previous = span.previous;
}

// A block of `span`, nullptr: it has none left.
void* TakeBlock(Span& span, size_t size_class) {
  if (Free* block = span.free) {
    span.free = block->next;
    ++span.live;
    return block;
  }
  const size_t bytes = BlockBytes(size_class);
  if (span.unused + bytes > kSpanBytes) return nullptr;
  std::byte* block = BytesOf(span) + span.unused;
  span.unused += static_cast<uint32_t>(bytes);
  ++span.live;
  return block;
}

void* TakeFromOtherSpan(Class& own, size_t size_class) {
  while (Span* full = own.spans) {
    if (void* block = TakeBlock(*full, size_class)) return block;
    Delist(*full, own);
  }
  if (Free* block = own.strangers) {
    own.strangers = block->next;
    return block;
  }
  Span* span = this_thread.empty;
  if (span != nullptr) {
    this_thread.empty = span->next;
  } else {
    span = NewSpan();
    if (span == nullptr) return FromHeap(BlockBytes(size_class));
    if (this_thread.id == 0) this_thread.id = last_thread.fetch_add(1, std::memory_order_relaxed) + 1;
    span->owner = this_thread.id;
  }
  span->free = nullptr;
  span->unused = 0;
  span->size_class = static_cast<uint8_t>(size_class);
  Enlist(*span, own);
  return TakeBlock(*span, size_class);
}

// A block of `span`, which was full or is empty now.
void FreeOfOtherSpan(Span& span) {
  Class& own = this_thread.classes[span.size_class];
  if (!span.listed) Enlist(span, own);
  if (span.live > 0 || &span == own.spans) return;
  Delist(span, own);
  span.next = this_thread.empty;
  this_thread.empty = &span;
}

}  // namespace

void* operator new(size_t bytes) {
  if (bytes > kLargestBytes) return FromHeap(bytes);
  const size_t size_class = bytes == 0 ? 0 : (bytes - 1) / kGrainBytes;
  Class& own = this_thread.classes[size_class];
  Span* span = own.spans;
  if (span != nullptr && span->free != nullptr) {
    Free* block = span->free;
    span->free = block->next;
    ++span->live;
    return block;
  }
  return TakeFromOtherSpan(own, size_class);
}

void operator delete(void* block) noexcept {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(block) - space_begin.load(std::memory_order_relaxed);
  if (offset >= kSpaceBytes) return std::free(block);
  Span& span = Spans()[offset / kSpanBytes];
  if (span.owner != this_thread.id) {
    Class& own = this_thread.classes[span.size_class];
    own.strangers = new (block) Free{own.strangers};
    return;
  }
  span.free = new (block) Free{span.free};
  if (--span.live == 0 || !span.listed) FreeOfOtherSpan(span);
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
