import type { HubLimits } from '../platform/node/index.js';

/** A hub that answers at all is given time: a slow line carries 2 kB/s at least, and what is cut goes on where it was. */
export const hubLimits: HubLimits = {
  redirectsMax: 5,
  answerMsMax: 30_000,
  answerBytesMax: 16 << 20,
  attemptsMax: 5,
  retryDelayMs: 500,
  progressMs: 30_000,
  progressBytesMin: 65_536,
  reserveBytes: 256 << 20,
};
