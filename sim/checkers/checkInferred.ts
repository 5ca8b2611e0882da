import { answerText, simAdapters } from '../cluster/SimScript.js';

/** One answer of the model as a client got it. */
export interface Inferred {
  readonly question: number;
  /** The domain that was asked for. */
  readonly domain: string | undefined;
  readonly text: string;
  readonly adapterDigest: string | null;
  readonly decision: string;
  /** False: only a part of the answer came. */
  readonly isWhole: boolean;
}

/** What is wrong with an answer; undefined when it is the scripted one of the adapter it names, and of the domain where it was routed so. */
export function checkInferred(inferred: Inferred): string | undefined {
  const { question, domain, text, adapterDigest, decision, isWhole } = inferred;
  const adapter = simAdapters.find(({ digest }) => digest === adapterDigest);
  if (adapterDigest !== null && adapter === undefined) return `unknown adapter ${adapterDigest}`;
  if (decision === 'domain' && adapter?.domain !== domain) return `routed to domain ${domain}, answered with adapter ${adapter?.domain}`;
  if (decision !== 'domain' && adapter !== undefined) return `routed by ${decision}, answered with adapter ${adapter.domain}`;
  const expected = answerText(question, adapter?.domain);
  const isRight = isWhole ? text === expected : expected.startsWith(text);
  return isRight ? undefined : `question ${question} (${adapter?.domain ?? 'base'}) was answered ${JSON.stringify(text)}`;
}
