import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { platformError } from '../../index.js';
import { chooseLlamaPackage } from './chooseLlamaPackage.js';

export interface LlamaLibraries {
  /** Folder that also holds the CPU variants of ggml, one of which is picked by what the processor can do. */
  readonly folder: string;
  readonly ggml: string;
  /** ggml's tensors and graphs. */
  readonly ggmlBase: string;
  readonly llama: string;
  /** Package and version that they came with. */
  readonly release: string;
}

/** Finds llama.cpp's shared libraries inside the platform package that was installed. Errors: ENGINE_UNAVAILABLE (no package for this platform, or not installed). */
export function locateLlamaLibraries(options: { readonly usesGpu: boolean } = { usesGpu: false }): LlamaLibraries {
  const platform = `${process.platform}-${process.arch}`;
  const name = chooseLlamaPackage({ platform, usesGpu: options.usesGpu, versionOf });
  const bins = join(folderOf(name), 'bins');
  const folder = join(bins, readdirSync(bins)[0] ?? '');
  const [ggml, ggmlBase, llama] = ['ggml', 'ggml-base', 'llama'].map((library) => findLibrary(folder, library)) as [string, string, string];
  return { folder, ggml, ggmlBase, llama, release: `${name}@${versionOf(name)}` };
}

/** Its main file lies in `dist`. */
const folderOf = (name: string): string => join(dirname(createRequire(import.meta.url).resolve(name)), '..');

const versionOf = (name: string): string | undefined => {
  try {
    return (JSON.parse(readFileSync(join(folderOf(name), 'package.json'), 'utf8')) as { readonly version?: string }).version;
  } catch {
    return undefined;
  }
};

function findLibrary(folder: string, name: string): string {
  const form = new RegExp(`^lib${name}\\.(v[0-9.]+\\.)?(so|dylib)$`);
  const file = readdirSync(folder).find((entry) => form.test(entry));
  if (file === undefined) throw platformError('ENGINE_UNAVAILABLE', `lib${name} is missing in the llama.cpp package`);
  return join(folder, file);
}
