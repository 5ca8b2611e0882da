/** Bytes for people, in decimal units as disks are sold: `25.2 MB` below a gigabyte, `1.6 GB` from there. */
export function describeBytes(bytes: number): string {
  // What rounds to a thousand megabytes is a gigabyte.
  return bytes < 999.95e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
