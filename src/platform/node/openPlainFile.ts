import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs';

/**
 * Opens a file to read, or nothing: a pipe, a device or a folder under the path of a user would hold the reader for ever, or never end.
 * The caller closes the
 * descriptor and reads no more than `bytes`: files of the kernel say that they have none, and some of them make the reader wait. Throws an Error in words for the user; one of the system has its `code`.
 */
export function openPlainFile(path: string): { readonly file: number; readonly bytes: number } {
  checkPlain(statSync(path)); // before it is opened: opening a device may set it going
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const facts = fstatSync(file);
    checkPlain(facts); // it may be another one by now
    return { file, bytes: facts.size };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

const checkPlain = (facts: { isFile(): boolean }): void => {
  if (!facts.isFile()) throw new Error('it is no plain file');
};
