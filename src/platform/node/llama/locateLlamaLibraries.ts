import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { platformError } from '../../index.js';

export interface LlamaLibraries {
  /** Folder that also holds the CPU variants of ggml, one of which is picked by what the processor can do. */
  readonly folder: string;
  readonly ggml: string;
  /** ggml's tensors and graphs. */
  readonly ggmlBase: string;
  readonly llama: string;
}

const packages: { readonly [platform: string]: string } = {
  'linux-x64': '@node-llama-cpp/linux-x64',
  'linux-arm64': '@node-llama-cpp/linux-arm64',
  'darwin-arm64': '@node-llama-cpp/mac-arm64-metal',
  'darwin-x64': '@node-llama-cpp/mac-x64',
};

/** Finds llama.cpp's shared libraries inside the platform package that was installed. Errors: ENGINE_UNAVAILABLE (no package for this platform, or not installed). */
export function locateLlamaLibraries(): LlamaLibraries {
  const bins = join(dirname(resolvePackage()), '..', 'bins');
  const folder = join(bins, readdirSync(bins)[0] ?? '');
  return { folder, ggml: findLibrary(folder, 'ggml'), ggmlBase: findLibrary(folder, 'ggml-base'), llama: findLibrary(folder, 'llama') };
}

function resolvePackage(): string {
  const platform = `${process.platform}-${process.arch}`;
  const name = packages[platform];
  if (name === undefined) throw platformError('ENGINE_UNAVAILABLE', `no llama.cpp libraries exist for ${platform}`);
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    throw platformError('ENGINE_UNAVAILABLE', `the package ${name} is not installed: install with optional dependencies`, { cause });
  }
}

function findLibrary(folder: string, name: string): string {
  const form = new RegExp(`^lib${name}\\.(v[0-9.]+\\.)?(so|dylib)$`);
  const file = readdirSync(folder).find((entry) => form.test(entry));
  if (file === undefined) throw platformError('ENGINE_UNAVAILABLE', `lib${name} is missing in the llama.cpp package`);
  return join(folder, file);
}
