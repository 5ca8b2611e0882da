/** Memory that processes of this machine, or of this container, can still take. */
export interface FreeMemory {
  readonly bytes: number;
  /** Of all that is bounded so, free or not. */
  readonly totalBytes: number;
  /** What bounds it, for people: `the machine`, `the container`. */
  readonly bound: string;
}

/** Reads it now. Undefined where the system does not tell; nothing is refused then. */
export interface MemoryReader {
  read(): FreeMemory | undefined;
}
