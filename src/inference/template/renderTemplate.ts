import { Environment } from '@huggingface/jinja';
import { BoundedInterpreter } from './BoundedInterpreter.js';
import { formatTime } from './formatTime.js';
import type { ParsedTemplate } from './parseTemplate.js';
import { templateLimits } from './templateLimits.js';

const formatCharactersMax = 256;

/** What a template writes of `given`, whose `messages` and `tools` add to the steps it may take. Errors: CHAT_REFUSED, and what the template throws. */
export function renderTemplate(
  template: ParsedTemplate,
  given: { readonly messages: readonly object[]; readonly tools?: readonly unknown[]; readonly [name: string]: unknown },
  nowMs: number,
): string {
  const { stepsMax, stepsPerMessage } = templateLimits;
  const environment = new Environment();
  const interpreter = new BoundedInterpreter(
    environment,
    stepsMax + stepsPerMessage * (given.messages.length + (given.tools?.length ?? 0)),
  );
  const globals = { ...constants, ...functionsOf(interpreter, nowMs), ...given };
  for (const [name, value] of Object.entries(globals)) environment.set(name, value);
  return interpreter.run(template).value as string;
}

const constants = { true: true, false: false, none: null, True: true, False: false, None: null };

const functionsOf = (interpreter: BoundedInterpreter, nowMs: number) => ({
  raise_exception: (reason: unknown) => {
    throw new Error(String(reason));
  },
  range: (...bounds: readonly unknown[]) => numbersOf(interpreter, bounds),
  strftime_now: (format: unknown) => formatTime(nowMs, String(format).slice(0, formatCharactersMax)),
});

/** As Python's `range`. Its length is paid for before it is made. */
const numbersOf = (interpreter: BoundedInterpreter, bounds: readonly unknown[]): readonly number[] => {
  if (bounds.length < 1 || bounds.length > 3 || !bounds.every(Number.isInteger))
    throw new Error('range() takes one to three whole numbers');
  const [start, stop, step] = (bounds.length === 1 ? [0, ...bounds, 1] : [...bounds, 1]) as [number, number, number];
  if (step === 0) throw new Error('range() step must not be zero');
  const length = Math.max(0, Math.ceil((stop - start) / step));
  interpreter.spend(length);
  return Array.from({ length }, (_, index) => start + index * step);
};
