import type { PlantedBug } from './PlantedBug.js';

/** The planted bugs by name. */
export const plantedBugs = {} as const satisfies { readonly [name: string]: PlantedBug };
