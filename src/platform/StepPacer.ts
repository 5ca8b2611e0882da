/** Awaited between engine steps: the real one yields to the event loop, the simulated one sleeps the scripted cost of the step in virtual time. */
export interface StepPacer {
  after(step: { readonly prefillRows: number; readonly decodeRows: number; readonly embedRows: number }): Promise<void>;
}
