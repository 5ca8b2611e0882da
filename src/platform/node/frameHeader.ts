const cancelLength = 0xffff_ffff;

/** The four bytes before a frame: its length, big-endian; all ones = "cancel the call" on the request side. */
export const frameHeader = {
  bytes: 4,
  cancelLength,
  of(length: number): Buffer {
    const header = Buffer.allocUnsafe(4);
    header.writeUInt32BE(length);
    return header;
  },
  get cancel(): Buffer {
    return frameHeader.of(cancelLength);
  },
};
