/** Folder of the installed package, as a URL that ends with a slash: compiled files lie in dist/src/cli. */
export const packageFolder: URL = new URL('../../../', import.meta.url);
