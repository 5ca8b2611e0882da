import type { AdapterIdentity } from './AdapterIdentity.js';

/** `digest@scale`: equal where rows are computed alike. A number is written so that it reads back the same, so that two scales never share a key. */
export const adapterKey = ({ digest, scale }: AdapterIdentity): string => `${digest}@${scale}`;
