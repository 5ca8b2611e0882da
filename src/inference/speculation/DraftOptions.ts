import type { InferenceOptions } from '../options.js';

/** How drafts for an answer are judged. */
export type DraftOptions = Pick<InferenceOptions, 'draftShareFirst' | 'draftShareWeight' | 'draftRetryWeight'>;
