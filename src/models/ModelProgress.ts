/** Progress of something over a second (R38). `done` and `total` in bytes. */
export interface ModelProgress {
  readonly model: string;
  readonly phase: 'download' | 'prepare' | 'verify' | 'copy';
  readonly done: number;
  readonly total: number;
}
