/** What a loaded engine holds. */
export interface EngineHold {
  readonly name: string;
  readonly bytes: number;
  /** Requests are in it, or wait for it. */
  readonly isBusy: boolean;
  /** When its last request ended, ms. */
  readonly lastUsedMs: number;
}

/** `unload`: in this order. `busy`: it would fit without those that are in use. `tooLarge`: not even then. */
export type RoomPlan =
  | { readonly kind: 'room'; readonly unload: readonly string[] }
  | { readonly kind: 'busy' }
  | { readonly kind: 'tooLarge' };

/**
 * Which engines make room for one more (R18): those that nobody uses, the least recently used first, no more than are needed and none where
 * all of them would not do. `roomBytes`: free as things are; below zero where more is held than may be.
 */
export function planRoom(given: {
  readonly neededBytes: number;
  readonly roomBytes: number;
  readonly holds: readonly EngineHold[];
}): RoomPlan {
  const { neededBytes, roomBytes, holds } = given;
  const idle = holds.filter(({ isBusy }) => !isBusy).sort((left, right) => left.lastUsedMs - right.lastUsedMs);
  const unload: string[] = [];
  let room = roomBytes;
  for (const { name, bytes } of idle) {
    if (neededBytes <= room) break;
    unload.push(name);
    room += bytes;
  }
  if (neededBytes <= room) return { kind: 'room', unload };
  const all = holds.reduce((total, { bytes }) => total + bytes, roomBytes);
  return { kind: neededBytes <= all ? 'busy' : 'tooLarge' };
}
