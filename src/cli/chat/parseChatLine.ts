/** What a line of `ostraka chat` asks for. */
export type ChatLine =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'help' | 'reset' | 'exit' }
  /** Without a value: show it; `-`: none. */
  | { readonly kind: 'system' | 'domain'; readonly value: string | undefined }
  | { readonly kind: 'save'; readonly file: string }
  | { readonly kind: 'wrong'; readonly message: string };

/** A line that begins with one slash is a command; with two, a text that begins with one. */
export function parseChatLine(line: string): ChatLine {
  const text = line.trim();
  if (text === '') return { kind: 'nothing' };
  if (!text.startsWith('/')) return { kind: 'say', text };
  if (text.startsWith('//')) return { kind: 'say', text: text.slice(1) };
  const [, name = '', value = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? [];
  return commandOf(name, value);
}

function commandOf(name: string, value: string): ChatLine {
  switch (name) {
    case 'help':
    case 'reset':
      return { kind: name };
    case 'exit':
    case 'quit':
      return { kind: 'exit' };
    case 'system':
    case 'domain':
      return { kind: name, value: value === '' ? undefined : value };
    case 'save':
      return value === '' ? { kind: 'wrong', message: '/save needs a file: /save talk.json' } : { kind: 'save', file: value };
    default:
      return { kind: 'wrong', message: `there is no command /${name}; /help lists them` };
  }
}
