/** Labels of one sample; every label name is declared with the metric and its values are bounded. */
export type MetricLabels = { readonly [label: string]: string };

export interface MetricDeclaration {
  /** The paper's name plus a unit suffix (`_seconds`, `_bytes`, `_total`), without a prefix (SPEC R36). */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

export interface Counter {
  add(amount?: number, labels?: MetricLabels): void;
}
export interface Gauge {
  set(value: number, labels?: MetricLabels): void;
}
export interface Histogram {
  observe(value: number, labels?: MetricLabels): void;
}

/** The shard's metrics. Each module declares its own in `metrics.ts`; declaring one name twice is a programming error. */
export interface Metrics {
  counter(declaration: MetricDeclaration): Counter;
  gauge(declaration: MetricDeclaration): Gauge;
  histogram(declaration: MetricDeclaration & { readonly buckets: readonly number[] }): Histogram;
  /** Prometheus text exposition format 0.0.4. */
  render(): Promise<string>;
}
