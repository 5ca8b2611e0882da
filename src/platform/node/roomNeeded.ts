/** A store that is full takes ordinary writes again once so many bytes are free: the reserve for removals, and as much to write into. */
export const roomNeeded = (reserveBytes: number): number => 2 * reserveBytes;
