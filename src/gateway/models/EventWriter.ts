import type { OstrakaError } from '../../base/index.js';
import type { RoutingReport } from '../../cooperation/index.js';

/** Writes the events of a streamed answer as server-sent events of one surface. */
export interface EventWriter<Event> {
  /** What is sent in a time of silence. */
  readonly ping: string;
  write(event: Event): Iterable<string>;
  /** After the last event. */
  end(): Iterable<string>;
  /** Instead of the rest. */
  failed(error: OstrakaError): string;
  /** Who answers, as far as it is known yet. */
  routings(): Iterable<RoutingReport>;
}
