"""PyTorch's caching allocator on one stream, replayed without a card: segments, blocks, what is split and merged.

The rules are those of c10/cuda/CUDACachingAllocator.cpp: sizes rounded to 512 bytes; at most 1 MiB from the small pool
(segments of 2 MiB), below 10 MiB in segments of 20 MiB, else rounded to 2 MiB; the smallest free block that is large
enough; a rest is split off from 512 bytes (small) or more than 1 MiB (large) on; before it gives up, segments that are
wholly free go back to the card.
"""

from dataclasses import dataclass, field
from typing import Any

MIB = 1 << 20


class OutOfMemory(Exception):
    def __init__(self, device_free: int) -> None:
        super().__init__()
        self.device_free = device_free


@dataclass
class Block:
    address: int
    size: int
    segment: "Segment"
    requested: int = 0
    free: bool = True
    frames: list[Any] = field(default_factory=list)


@dataclass
class Segment:
    address: int
    size: int
    small: bool
    frames: list[Any]
    blocks: list[Block] = field(default_factory=list)

    def is_free(self) -> bool:
        return all(block.free for block in self.blocks)


class CachingAllocator:
    def __init__(self, capacity: int, expandable: bool = False) -> None:
        self.capacity = capacity
        self.expandable = expandable
        self.segments: list[Segment] = []
        self.log: list[tuple[str, int, int]] = []  # segments that came and went: action, address, size
        self._next = 0x7F1C00000000

    def reserved(self) -> int:
        return sum(segment.size for segment in self.segments)

    def allocate(self, requested: int, frames: list[Any]) -> Block:
        size = max(512, -(-requested // 512) * 512)
        small = size <= MIB
        block = self._find(size, small) or self._grow(size, small, frames)
        self._split(block, size, small)
        block.free, block.requested, block.frames = False, requested, frames
        return block

    def free(self, block: Block) -> None:
        block.free, block.requested, block.frames = True, 0, []
        blocks = block.segment.blocks
        at = blocks.index(block)
        for other in (at + 1, at - 1):
            if 0 <= other < len(blocks) and blocks[other].free:
                first, second = sorted((at, other))
                blocks[first].size += blocks[second].size
                del blocks[second]
                at = first

    def _find(self, size: int, small: bool) -> Block | None:
        fitting = [
            block
            for segment in self.segments
            if segment.small == small
            for block in segment.blocks
            if block.free and block.size >= size
        ]
        return min(fitting, key=lambda block: (block.size, block.address), default=None)

    def _split(self, block: Block, size: int, small: bool) -> None:
        rest = block.size - size
        if rest >= 512 if small or self.expandable else rest > MIB:
            blocks = block.segment.blocks
            blocks.insert(blocks.index(block) + 1, Block(block.address + size, rest, block.segment))
            block.size = size

    def _grow(self, size: int, small: bool, frames: list[Any]) -> Block:
        if self.expandable:
            return self._expand(size, small, frames)
        total = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        if self.reserved() + total > self.capacity:
            for segment in [segment for segment in self.segments if segment.is_free()]:
                self.segments.remove(segment)
                self.log.append(("segment_free", segment.address, segment.size))
        if self.reserved() + total > self.capacity:
            raise OutOfMemory(self.capacity - self.reserved())
        return self._append(total, small, frames, "segment_alloc").blocks[0]

    def _append(self, total: int, small: bool, frames: list[Any], action: str) -> Segment:
        segment = Segment(self._next, total, small, frames)
        segment.blocks.append(Block(segment.address, total, segment))
        self._next += (1 << 36) if self.expandable else total + 2 * MIB
        self.segments.append(segment)
        self.log.append((action, segment.address, total))
        return segment

    def _expand(self, size: int, small: bool, frames: list[Any]) -> Block:
        """One segment for each pool, which grows by pages of 2 or 20 MiB for what its free end lacks."""
        page = 2 * MIB if small else 20 * MIB
        segment = next((one for one in self.segments if one.small == small), None)
        tail = segment.blocks[-1].size if segment and segment.blocks[-1].free else 0
        missing = -(-(size - tail) // page) * page
        if self.reserved() + missing > self.capacity:
            raise OutOfMemory(self.capacity - self.reserved())
        if segment is None:
            return self._append(missing, small, frames, "segment_map").blocks[0]
        self.log.append(("segment_map", segment.address + segment.size, missing))
        if tail:
            segment.blocks[-1].size += missing
        else:
            segment.blocks.append(Block(segment.address + segment.size, missing, segment))
        segment.size += missing
        return segment.blocks[-1]
