/** The marker in every data folder, which says by what format its rows are written. */
export const dataFormat = {
  markerName: 'ostraka-data.json',
  /** What this version writes. Rows carry a checksum since 2; a folder keeps the format it was made with. */
  newest: 2,

  /** Of a marker's text; undefined where Ostraka did not write it. */
  of(marker: string): number | undefined {
    try {
      const { format } = JSON.parse(marker) as { readonly format?: unknown };
      return Number.isInteger(format) ? (format as number) : undefined;
    } catch {
      return undefined;
    }
  },
};
