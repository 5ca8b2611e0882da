import { spawnSync } from 'node:child_process';

/** Fetches the default models where they are missing; the variables that tests and benches find them by. Ends the process on failure. */
export function modelPaths() {
  const pull = spawnSync(process.execPath, ['dist/src/cli/main.js', 'model', 'pull'], { stdio: ['ignore', 'ignore', 'inherit'] });
  if (pull.status !== 0) process.exit(1);
  const listed = spawnSync(process.execPath, ['dist/src/cli/main.js', 'model', 'list', '--json'], { encoding: 'utf8' });
  const pathOf = (kind) => JSON.parse(listed.stdout).find((model) => model.kind === kind).path;
  return { OSTRAKA_TEST_CHAT_MODEL: pathOf('chat'), OSTRAKA_TEST_EMBEDDING_MODEL: pathOf('embedding') };
}
