import type { JsonValue } from '../../src/base/index.js';

/** How a request ended, as its client sees it. `lost`: no whole answer came. */
export type ClientAnswer =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body: JsonValue;
      /** Code of the error; undefined for a success. */
      readonly code: string | undefined;
    }
  | { readonly kind: 'refused' }
  | { readonly kind: 'lost' };
