/**
 * One life of a simulated process. All its ports wake it through the world's events, so killing it freezes its code where it stands:
 * no event of it runs again, and what it asks of its ports afterwards never answers.
 */
export class SimProcess {
  readonly name: string;
  /** How far its wall clock is from the world's. */
  clockSkewMs = 0;
  #isAlive = true;
  #pausedUntilMs = 0;

  constructor(name: string) {
    this.name = name;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  kill(): void {
    this.#isAlive = false;
  }

  /** Nothing of the process runs until then: a long collection, a machine that swaps. */
  pauseUntil(atMs: number): void {
    this.#pausedUntilMs = atMs;
  }
}
