import { platformError } from '../../index.js';

/** Packages of llama.cpp's libraries for one platform. */
interface PlatformPackages {
  readonly cpu: string;
  /** In the order they are looked for. On a Mac the package of the processor has Metal. */
  readonly gpu: readonly string[];
}

const packages: { readonly [platform: string]: PlatformPackages } = {
  'linux-x64': { cpu: '@node-llama-cpp/linux-x64', gpu: ['@node-llama-cpp/linux-x64-cuda', '@node-llama-cpp/linux-x64-vulkan'] },
  'linux-arm64': { cpu: '@node-llama-cpp/linux-arm64', gpu: [] },
  'darwin-arm64': { cpu: '@node-llama-cpp/mac-arm64-metal', gpu: ['@node-llama-cpp/mac-arm64-metal'] },
  'darwin-x64': { cpu: '@node-llama-cpp/mac-x64', gpu: [] },
};

export interface PackageWish {
  /** As `linux-x64`. */
  readonly platform: string;
  /** Layers go to a GPU. */
  readonly usesGpu: boolean;
  /** Version of a package, undefined when it is not installed. */
  readonly versionOf: (name: string) => string | undefined;
}

/** The package whose libraries an engine loads: for a GPU one of the release of the processor's. Errors: ENGINE_UNAVAILABLE, with what to install. */
export function chooseLlamaPackage({ platform, usesGpu, versionOf }: PackageWish): string {
  const known = packages[platform];
  if (known === undefined) throw platformError('ENGINE_UNAVAILABLE', `no llama.cpp libraries exist for ${platform}`);
  const release = versionOf(known.cpu);
  if (release === undefined)
    throw platformError('ENGINE_UNAVAILABLE', `the package ${known.cpu} is not installed: install with optional dependencies`);
  if (!usesGpu) return known.cpu;
  if (known.gpu.length === 0)
    throw platformError('ENGINE_UNAVAILABLE', `no llama.cpp libraries for a GPU exist for ${platform}: leave --gpu-layers out`);
  const found = known.gpu.find((name) => versionOf(name) === release);
  if (found !== undefined) return found;
  const advice = known.gpu.map((name) => `npm install ${name}@${release}`).join(', or ');
  throw platformError('ENGINE_UNAVAILABLE', `--gpu-layers needs libraries for a GPU of the same release (${release}): ${advice}`);
}
