/** Server-sent events. */
export const sse = {
  data: (body: object): string => `data: ${JSON.stringify(body)}\n\n`,
  /** With the name that the body has as its type. */
  typed: (body: { readonly type: string }): string => `event: ${body.type}\n${sse.data(body)}`,
  done: 'data: [DONE]\n\n',
  /** A comment, which is no event to a client. */
  ping: ': ping\n\n',
} as const;
