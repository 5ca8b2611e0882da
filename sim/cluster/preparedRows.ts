/** Where a store keeps prepared transactions: the rows of kind `p`. */
export const preparedRows = { from: Uint8Array.of(0x70), to: Uint8Array.of(0x71), entriesMax: 100 };
