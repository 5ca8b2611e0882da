import type { JsonValue } from '../base/index.js';
import type { RpcMethod } from '../rpc/index.js';
import type { FragmentRunner } from './FragmentRunner.js';
import { fragmentWire } from './fragmentWire.js';

/** RPC methods of queries: `execution.fragment` streams a fragment's rows, `execution.write` makes a batch of changes, `execution.touch` keeps a transaction open. */
export function executionMethods(runner: FragmentRunner): { readonly [method: string]: RpcMethod } {
  return {
    'execution.fragment': async function* ({ body, signal }) {
      for await (const frame of runner.run(fragmentWire.fragment.parse(body), signal)) yield frame as unknown as JsonValue;
    },
    'execution.write': async function* ({ body, signal }) {
      yield (await runner.write(fragmentWire.write.parse(body), signal)) as unknown as JsonValue;
    },
    'execution.touch': async function* ({ body, signal }) {
      await runner.touch(fragmentWire.touch.parse(body).transaction, signal);
      yield null;
    },
  };
}
