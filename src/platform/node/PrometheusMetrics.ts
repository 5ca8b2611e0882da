import { collectDefaultMetrics, Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from 'prom-client';
import type { Counter, Gauge, Histogram, MetricDeclaration, Metrics } from '../index.js';

/** Metrics in a prom-client registry of its own: one a shard, nothing global. */
export class PrometheusMetrics implements Metrics {
  readonly #registry = new Registry();

  /** Adds what the client library tells of a process: memory, CPU, garbage collection, delay of the event loop. Once a process. */
  addProcessMetrics(): void {
    collectDefaultMetrics({ register: this.#registry });
  }

  counter(declaration: MetricDeclaration): Counter {
    const counter = new PromCounter(this.#configuration(declaration));
    return { add: (amount = 1, labels = {}) => counter.inc(labels, amount) };
  }

  gauge(declaration: MetricDeclaration): Gauge {
    const gauge = new PromGauge(this.#configuration(declaration));
    return { set: (value, labels = {}) => gauge.set(labels, value) };
  }

  histogram(declaration: MetricDeclaration & { readonly buckets: readonly number[] }): Histogram {
    const histogram = new PromHistogram({ ...this.#configuration(declaration), buckets: [...declaration.buckets] });
    return { observe: (value, labels = {}) => histogram.observe(labels, value) };
  }

  render(): Promise<string> {
    return this.#registry.metrics();
  }

  #configuration({ name, help, labels = [] }: MetricDeclaration) {
    return { name, help, labelNames: [...labels], registers: [this.#registry] };
  }
}
