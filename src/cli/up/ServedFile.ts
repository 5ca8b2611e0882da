import type { ModelFile } from './ModelFile.js';

/** A model that shards serve beside their own. */
export type ServedFile = ModelFile & { readonly kind: 'chat' | 'embedding' };
