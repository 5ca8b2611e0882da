/** Small files of the data folder (certificates, markers). Writes are atomic (temporary name, fsync, rename). Names are relative, `/`-separated, checked. */
export interface FileStore {
  read(name: string): Promise<Uint8Array | undefined>;
  writeAtomic(name: string, bytes: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
}
