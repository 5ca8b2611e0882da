/** `inference.kvStoreBytesMax` as it is unless changed; the estimate of an engine's memory counts with it, too. */
export const prefixStoreBytesDefault = 268_435_456;
