/** Tokens of the unit in which prefixes are announced and asked for between shards: what rule R recomputes anyhow (R27). */
export const prefixUnitTokens = 64;
