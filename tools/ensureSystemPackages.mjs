// Programs that the durability tests need and a bare machine lacks: strace and mkfs.ext4. Installed with apt-get when this runs as root
// and finds it; otherwise the tests that need them say why they are skipped.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

const isThere = (program) =>
  [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'].some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

const installer = 'apt-get';
const packages = [
  ['strace', 'strace'],
  ['mkfs.ext4', 'e2fsprogs'],
]
  .filter(([program]) => !isThere(program))
  .map(([, name]) => name);

if (packages.length > 0 && process.getuid?.() === 0 && isThere(installer)) {
  console.log(`installing ${packages.join(', ')} with ${installer}, for the durability tests`);
  const run = (...args) => spawnSync(installer, args, { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
  const isInstalled = run('install', '-y', '--no-install-recommends', ...packages) || (run('update') && run('install', '-y', ...packages));
  if (!isInstalled) console.log(`could not install ${packages.join(', ')}: the tests that need them are skipped`);
}
