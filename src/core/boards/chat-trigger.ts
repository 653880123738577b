import { z } from 'zod'
import { printable } from '../kit/index.ts'
import { foldName } from '../users/index.ts'

// A chat trigger starts a run when a message in a room contains one of its words or phrases.

/** A text that a person wrote in a room. `text` is without quoted lines. */
export type ChatMessage = Readonly<{ eventId: string; roomId: string; sender: string; sentAtMs: number; text: string }>

const Relation = z.object({ rel_type: z.string().optional() }).optional().catch(undefined)

const RoomMessage = z.object({
  event_id: z.string().regex(/^[!-~]{1,255}$/),
  type: z.literal('m.room.message'),
  sender: z.string().min(1).max(255),
  origin_server_ts: z.int(),
  state_key: z.undefined().optional(),
  content: z.object({ msgtype: z.literal('m.text'), body: z.string().max(65_536), 'm.relates_to': Relation }),
})

/** Reads an event of a room; undefined for everything but a new text: notices of bots, edits, files, redacted messages. */
export function readChatMessage(roomId: string, event: unknown): ChatMessage | undefined {
  const { data } = RoomMessage.safeParse(event)
  if (!data || data.content['m.relates_to']?.rel_type === 'm.replace') return undefined
  const { event_id: eventId, sender, origin_server_ts: sentAtMs, content } = data
  return { eventId, roomId, sender, sentAtMs, text: withoutQuotes(storable(content.body)) }
}

/** Databases refuse NUL and half characters, which chat servers accept. */
const storable = (body: string): string => printable(body).replace(/\p{Surrogate}/gu, '\ufffd')

/** A reply quotes the message it answers in lines that begin with `>`. */
const withoutQuotes = (body: string): string =>
  body
    .split('\n')
    .filter((line) => !line.startsWith('>'))
    .join('\n')

/** Messages that are read later start nothing: their senders no longer expect it. The room learns so. */
const maxMessageAgeMs = 3_600_000

export const isOutdated = ({ sentAtMs }: Pick<ChatMessage, 'sentAtMs'>, nowMs: number): boolean => nowMs - sentAtMs > maxMessageAgeMs

/** The words of a text in a form that compares, between single spaces. */
const spaced = (text: string): string => ` ${(foldName(text).match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).join(' ')} `

/** Whether a phrase has a word at all. */
export const hasWords = (phrase: string): boolean => spaced(phrase).trim() !== ''

/** Whether the text has one of the phrases as whole words, in this order; case, accents and punctuation do not matter. */
export function saysOneOf(phrases: readonly string[], text: string): boolean {
  const said = spaced(text)
  return phrases.some((phrase) => hasWords(phrase) && said.includes(spaced(phrase)))
}
