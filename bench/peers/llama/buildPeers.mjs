// Builds llama-batched-bench and llama-server for the benches, once, into the user's cache folder: node bench/peers/llama/buildPeers.mjs
// Needs git, cmake, ninja or make, and a C++ compiler. Takes some minutes. Prints the folder of the programs on its last line; with --find
// builds nothing, and prints nothing where they are not built.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const own = dirname(fileURLToPath(import.meta.url));
const root = join(own, '..', '..', '..');
const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const version = optionalDependencies['@node-llama-cpp/linux-x64'];
const platform = `${process.platform}-${process.arch}`;
const libraries = join(root, 'node_modules', '@node-llama-cpp', platform, 'bins', platform);
const cache = process.env.OSTRAKA_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'ostraka');
const folder = join(cache, 'peers', version);
const programs = ['llama-batched-bench', 'llama-server'];

const run = (command, args, cwd) => execFileSync(command, args, { cwd, stdio: ['ignore', 2, 'inherit'] });
const has = (command) => {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

const fetchSource = (into) => {
  console.log(`fetching the source of llama.cpp in node-llama-cpp ${version}`);
  run('npm', ['pack', '--silent', `node-llama-cpp@${version}`], into);
  run('tar', ['xzf', `node-llama-cpp-${version}.tgz`, 'package/llama/gitRelease.bundle'], into);
  run('git', ['-c', 'advice.detachedHead=false', 'clone', '--quiet', 'package/llama/gitRelease.bundle', 'source'], into);
};

const build = (into) => {
  const generator = has('ninja') ? ['-G', 'Ninja'] : [];
  const define = { CMAKE_BUILD_TYPE: 'Release', LLAMA_SOURCE: join(into, 'source'), LLAMA_LIBRARIES: libraries };
  run('cmake', ['-S', own, '-B', 'build', ...generator, ...Object.entries(define).map(([name, value]) => `-D${name}=${value}`)], into);
  for (const program of programs) {
    console.log(`building ${program}`);
    run('nice', ['cmake', '--build', 'build', '--target', program, '--parallel', '1'], into);
  }
};

const isBuilt = programs.every((program) => existsSync(join(folder, program)));
if (!isBuilt && process.argv.includes('--find')) process.exit(0);
if (!isBuilt) {
  if (!existsSync(libraries)) throw new Error(`the libraries of ${platform} are not installed: npm ci`);
  const work = `${folder}.work-${process.pid}`;
  mkdirSync(work, { recursive: true });
  try {
    fetchSource(work);
    build(work);
    const made = join(work, 'made');
    mkdirSync(made);
    for (const program of programs) renameSync(join(work, 'build', program), join(made, program));
    // The library looks for its backends beside the program.
    for (const file of readdirSync(libraries).filter((name) => name.includes('.so'))) symlinkSync(join(libraries, file), join(made, file));
    rmSync(folder, { recursive: true, force: true });
    renameSync(made, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
console.log(folder);
