import type { ChatMessage } from '../../../core/boards/index.ts'
import { type Homeserver, isFault, type ServiceAnswer } from '../../../core/homeserver/index.ts'
import { messagesPath, pageSize, readPage, readSync, syncPath } from './sync-answer.ts'

/** Messages read in one gap of a room; more are reported, not read. */
const maxFilled = 1_000

/** The messages of the rooms since the last read. `unread`: rooms with messages that were not read. */
export type News = Readonly<{
  next: string
  messages: readonly ChatMessage[]
  encrypted: readonly string[]
  unread: readonly string[]
}>

/** `retry`: the server gives no answer now. `restart`: it does not know the token, so reading begins with the newest messages. */
export type Read =
  | Readonly<{ kind: 'news'; news: News }>
  | Readonly<{ kind: 'retry'; afterMs: number; reason: string }>
  | Readonly<{ kind: 'restart' }>

type Deps = Readonly<{ homeserver: Homeserver; signal: AbortSignal }>
/** `readFrom`: without a token, messages before this time are not read. */
type From = Readonly<{ rooms: readonly string[]; since: string | null; readFrom: string }>

/** Waits for messages of the rooms and fills the gaps between them and the last read. */
export async function fetchMessages(deps: Deps, from: From): Promise<Read> {
  const answer = await sync(deps, from)
  if ('afterMs' in answer) return answer
  if (answer.kind === 'too_large') return { kind: 'restart' }
  if (answer.kind !== 'ok') return answer.status === 400 || answer.status === 404 ? { kind: 'restart' } : refused(answer)
  const synced = readSync(answer.json)
  if (!synced) return { kind: 'retry', afterMs: faultMs, reason: 'its answer is not a sync response' }
  const news: { messages: ChatMessage[]; encrypted: string[]; unread: string[] } = { messages: [], encrypted: [], unread: [] }
  for (const room of synced.rooms.filter((one) => from.rooms.includes(one.roomId))) {
    const { roomId, messages, isEncrypted, gap } = room
    const isFilled = gap === null || reachesBack(from, room)
    const filled = isFilled ? nothing : await fillGap(deps, from, { roomId, token: gap })
    if ('afterMs' in filled) return filled
    news.messages.push(...filled.messages, ...messages)
    if (isEncrypted || filled.isEncrypted) news.encrypted.push(roomId)
    if (!filled.isComplete) news.unread.push(roomId)
  }
  return { kind: 'news', news: { next: synced.next, ...news } }
}

/** At a new beginning: whether the oldest event that was read is from before it. */
const reachesBack = ({ since, readFrom }: From, { oldestMs }: Readonly<{ oldestMs: number | undefined }>): boolean =>
  since === null && oldestMs !== undefined && oldestMs < Date.parse(readFrom)

const faultMs = 10_000
type Retry = Extract<Read, { kind: 'retry' }>

type Answer = Exclude<Awaited<ReturnType<Homeserver['read']>>, { retryAfterSeconds: number }>

/** Messages of up to 64 KB can make an answer too large: then one of each room is read, and at a new beginning none. */
async function sync(deps: Deps, from: From): Promise<Answer | Retry> {
  const limits = from.since === null ? [pageSize, 1, 0] : [pageSize, 1]
  for (const limit of limits) {
    const answer = await ask(deps, syncPath({ ...from, limit }))
    if ('afterMs' in answer || answer.kind !== 'too_large') return answer
  }
  return { kind: 'too_large' }
}

async function ask({ homeserver, signal }: Deps, path: string): Promise<Answer | Retry> {
  const answer = await homeserver.read({ path, signal })
  if (answer.kind === 'too_large' || !isFault(answer)) return answer as Answer
  return { kind: 'retry', afterMs: answer.retryAfterSeconds * 1_000, reason: answer.reason }
}

const refused = ({ status, errcode }: Extract<ServiceAnswer, { kind: 'refused' }>): Retry => ({
  ...{ kind: 'retry', afterMs: faultMs, reason: `it refuses access: ${status} ${errcode}` },
})

type Filled = Readonly<{ messages: readonly ChatMessage[]; isEncrypted: boolean; isComplete: boolean }>
const nothing: Filled = { messages: [], isEncrypted: false, isComplete: true }

/** Reads back until the last read, also messages that are too old to start anything: their room is answered. */
async function fillGap(deps: Deps, last: From, { roomId, token }: Readonly<{ roomId: string; token: string }>): Promise<Filled | Retry> {
  const messages: ChatMessage[] = []
  let isEncrypted = false
  for (let [from, count] = [token as string | undefined, 0]; from !== undefined; ) {
    if (count >= maxFilled) return { messages, isEncrypted, isComplete: false }
    const answer = await ask(deps, messagesPath({ roomId, from, to: last.since }))
    if ('afterMs' in answer) return answer
    const page = answer.kind === 'ok' ? readPage(roomId, answer.json) : undefined
    if (!page) return { messages, isEncrypted, isComplete: false }
    messages.unshift(...page.messages.toReversed())
    isEncrypted ||= page.isEncrypted
    count += page.count
    from = page.count === 0 || page.end === from || reachesBack(last, page) ? undefined : page.end
  }
  return { messages, isEncrypted, isComplete: true }
}
