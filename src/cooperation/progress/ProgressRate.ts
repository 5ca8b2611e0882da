/** Weight of what is older than so many seconds falls to a third: a rate that people can read and that still follows the work. */
const memorySeconds = 10;
const stepSecondsMin = 0.2;

/** Units a second, of the last seconds. Pure: time comes in. */
export class ProgressRate {
  #atMs: number;
  #done = 0;
  #rate: number | undefined;

  constructor(startedMs: number) {
    this.#atMs = startedMs;
  }

  get value(): number {
    return this.#rate ?? 0;
  }

  update(done: number, nowMs: number): void {
    const seconds = (nowMs - this.#atMs) / 1000;
    if (seconds < stepSecondsMin) return;
    const newest = Math.max(0, done - this.#done) / seconds;
    const weight = 1 - Math.exp(-seconds / memorySeconds);
    this.#rate = this.#rate === undefined ? newest : this.#rate + weight * (newest - this.#rate);
    this.#atMs = nowMs;
    this.#done = done;
  }

  /** What was done until now cost no time worth the name, and says nothing of the rest. */
  skip(units: number): void {
    this.#done += units;
  }
}
