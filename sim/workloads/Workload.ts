import type { SimClient } from './SimClient.js';

/** What clients do, what they remember of it, and what must be true of it in the end. */
export interface Workload {
  /** Share of the clients' steps, relative to the others. */
  readonly weight: number;
  /** Before any fault. */
  setUp(client: SimClient): Promise<void>;
  /** One step of one client, under faults. Violations are told to the client. */
  step(client: SimClient): Promise<void>;
  /** After all faults and a quiet time: everything must answer. */
  verify(client: SimClient): Promise<void>;
}
