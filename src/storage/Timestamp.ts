declare const brand: unique symbol;

/**
 * A point of the hybrid logical clock: (milliseconds since 2020) × 4096 + counter, an integer below 2^53 until the year 2089. Plain
 * numbers compare as they should and survive JSON, which a 64-bit pair would not.
 */
export type Timestamp = number & { readonly [brand]: 'Timestamp' };
