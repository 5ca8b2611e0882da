import type { ModelVerdict } from '../../models/index.js';
import { platformError } from '../../platform/index.js';
import { openModelRegistry } from '../openModelRegistry.js';

/** `ostraka model verify [NAME]`: reads the files anew and compares their SHA-256. What is absent is wrong only when it was named. Errors: MODEL_INVALID. */
export async function modelVerifyCommand(name: string | undefined, options: { readonly json: boolean }): Promise<void> {
  const verdicts = await openModelRegistry().verify(name);
  if (options.json) process.stdout.write(`${JSON.stringify(verdicts, undefined, 2)}\n`);
  else for (const verdict of verdicts) process.stdout.write(`${line(verdict)}\n`);
  const wrong = verdicts.filter(({ state }) => state === 'damaged' || (state === 'absent' && name !== undefined));
  if (wrong.length === 0) return;
  const [first] = wrong as [ModelVerdict];
  throw platformError('MODEL_INVALID', `${wrong.map((one) => `${one.name} is ${one.state}`).join(', ')}: ${first.advice}`);
}

const line = ({ name, path, state, advice }: ModelVerdict): string =>
  `${state.padEnd(8)} ${name.padEnd(24)} ${path}${advice === '' ? '' : `  → ${advice}`}`;
