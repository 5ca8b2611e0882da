import { open } from 'node:fs/promises';

/** What was written to the file is on the disk afterwards. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
