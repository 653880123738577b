import type { StreamMessage } from './endpoint.ts'

/** Writes one message of an event stream; `data` is one line because JSON has no raw line breaks. */
export const formatStreamMessage = ({ id, event, data }: StreamMessage<unknown>): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

/** Reads an event stream message by message; comments (heartbeats) are passed over. */
export async function* readEventStream(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamMessage<unknown>> {
  const decoder = new TextDecoder()
  let pending = ''
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    pending += decoder.decode(chunk, { stream: true })
    const blocks = pending.split(/\r?\n\r?\n/)
    pending = blocks.pop() ?? ''
    for (const block of blocks) {
      const message = parseBlock(block)
      if (message) yield message
    }
  }
}

function parseBlock(block: string): StreamMessage<unknown> | undefined {
  const fields = new Map<string, string>()
  for (const line of block.split(/\r?\n/)) {
    const match = /^(id|event|data): ?(.*)$/.exec(line)
    if (match) fields.set(match[1] as string, match[2] as string)
  }
  const data = fields.get('data')
  if (data === undefined) return undefined
  const id = fields.get('id')
  return { ...(id === undefined ? {} : { id }), event: fields.get('event') ?? 'message', data: JSON.parse(data) }
}
