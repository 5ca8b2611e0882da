type ReadText = (path: string) => string | undefined;

/** Bytes of memory that a process holds, as Linux tells them in kB (`statm` counts pages, whose size differs by machine); undefined elsewhere, and of a process that is gone. */
export function readResidentBytes(pid: number, readText: ReadText): number | undefined {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}
