/** In the place of a model that an engine does without. No request has an empty name. */
export const noModel = { name: '', path: '', digest: '' } as const;
