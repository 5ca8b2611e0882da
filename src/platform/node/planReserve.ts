import { roomNeeded } from './roomNeeded.js';

/** The reserve for removals as it is, in bytes. */
export interface ReserveState {
  readonly reserveBytes: number;
  /** The ballast file stands on the disk. */
  readonly isHeld: boolean;
  readonly isFull: boolean;
  readonly diskFreeBytes: number;
  /** Free pages inside the store's own file, which never shrinks. */
  readonly storeFreeBytes: number;
}

export interface ReservePlan {
  readonly ballast: 'keep' | 'write' | 'release';
  /** Ordinary writes are refused, what frees room goes on. */
  readonly isFull: boolean;
}

/** On a disk with less, a commit may fail halfway through its file system's own bookkeeping. */
const diskLowBytes = 1024 * 1024;

/**
 * What to do about the reserve. The store is full once the disk is and the ballast had to go; it is so until twice the reserve is free
 * again, on the disk or in pages that removals left, so that it does not swing between the two. Without a ballast the reserve is a floor
 * that ordinary writes stay above.
 */
export function planReserve({ reserveBytes, isHeld, isFull, diskFreeBytes, storeFreeBytes }: ReserveState): ReservePlan {
  if (isHeld) return diskFreeBytes < diskLowBytes ? { ballast: 'release', isFull: true } : { ballast: 'keep', isFull: false };
  if (diskFreeBytes >= roomNeeded(reserveBytes) + diskLowBytes) return { ballast: reserveBytes > 0 ? 'write' : 'keep', isFull: false };
  const floorBytes = isFull ? roomNeeded(reserveBytes) : reserveBytes;
  return { ballast: 'keep', isFull: diskFreeBytes + storeFreeBytes < floorBytes };
}
