import { doubleAnswer } from './doubleAnswer.js';
import { earlyAck } from './earlyAck.js';
import { halfCommit } from './halfCommit.js';
import { leakedSlot } from './leakedSlot.js';
import { lostWrite } from './lostWrite.js';
import { oldSnapshot } from './oldSnapshot.js';
import type { PlantedBug } from './PlantedBug.js';
import { staleRoute } from './staleRoute.js';

/** The planted bugs by name: each must be found within 50 seeds. */
export const plantedBugs = {
  'early-ack': earlyAck,
  'lost-write': lostWrite,
  'double-answer': doubleAnswer,
  'stale-route': staleRoute,
  'half-commit': halfCommit,
  'leaked-slot': leakedSlot,
  'old-snapshot': oldSnapshot,
} as const satisfies { readonly [name: string]: PlantedBug };

export type PlantedBugName = keyof typeof plantedBugs;
