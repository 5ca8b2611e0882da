import type { ImportedModel } from './KnownModel.js';

/** A model that was fetched from a hub; `name` is that of the hub, with its file, `digest` that of the first pull. */
export interface HubModel extends ImportedModel {
  /** What the revision meant when it was last asked. */
  readonly commit: string;
  /** Where its file belongs, below the folder of hub models. */
  readonly fileName: string;
}
