const timeoutMs = 2_000;

/** Whether a shard of any Ostraka cluster answers on a port of this machine; one with a key tells by the shape of its refusal. */
export async function isOstraka(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/_api/version?details=true`, { signal: AbortSignal.timeout(timeoutMs) });
    const body = (await answer.json()) as { readonly ostrakaCode?: string; readonly details?: { readonly product?: string } };
    return body.details?.product === 'ostraka' || body.ostrakaCode !== undefined;
  } catch {
    return false; // not HTTP, not JSON, or silent
  }
}
