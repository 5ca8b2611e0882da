/** The data of server-sent events, however they are cut; comments and names are left out. */
export async function* eventData(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  let held = '';
  for await (const piece of bytes) {
    const blocks = (held + decoder.decode(piece, { stream: true })).split('\n\n');
    held = blocks.pop() ?? '';
    for (const block of blocks) {
      const lines = block.split('\n').filter((line) => line.startsWith('data:'));
      if (lines.length > 0) yield lines.map((line) => line.slice(5).trimStart()).join('\n');
    }
  }
}
