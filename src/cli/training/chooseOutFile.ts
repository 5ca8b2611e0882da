import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { cliError } from '../errors.js';

const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,100}$/;
const domainCharactersMax = 128;

/** Where an adapter goes: the file named, or DOMAIN.gguf here. Checked before the work, not after it. Errors: USAGE. */
export async function chooseOutFile(flags: { readonly domain: string; readonly out?: string }): Promise<string> {
  const { domain, out } = flags;
  if (domain.length === 0 || domain.length > domainCharactersMax)
    throw cliError('USAGE', `--domain has ${domain.length} characters, 1 to ${domainCharactersMax} are taken`);
  if (out === undefined && !plainName.test(domain))
    throw cliError('USAGE', `the domain ${domain} makes no file name: give --out FILE.gguf`);
  const path = resolve(out ?? `${domain}.gguf`);
  const [folder, present] = await Promise.all([dirname(path), path].map((one) => stat(one).catch(() => undefined)));
  if (!folder?.isDirectory()) throw cliError('USAGE', `the folder of ${path} is not there`);
  if (present?.isDirectory()) throw cliError('USAGE', `${path} is a folder`);
  return path;
}
