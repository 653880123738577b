import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { Clock } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Revocations } from '../auth/index.ts'
import { type Db, headOf } from '../db/index.ts'
import { type MembersOf, type Page, type PrivateOf, readPage, Topic } from './topic.ts'

export type BusDeps = Readonly<{
  db: Db
  clock: Clock
  log: Logger
  membersOf: MembersOf
  privateOf: PrivateOf
  /** Revocations are read before events are published. */
  revocations: Revocations
}>

/** Reads the events of each tenant once per process and publishes them to all followers. */
export type EventBus = Readonly<{
  /** Returns the topic of a stream; each call needs one `leave`. */
  enter(stream: string): Promise<Topic>
  leave(topic: Topic): void
  /** Reads the stream soon; it may have new events. */
  notify(stream: string): void
  /** Finds new events of all topics, of other daemons too. */
  poll(): Promise<void>
  /** Reads a page for a client that is behind; limited, so that live clients are not delayed. */
  readBehind(stream: string, after: number): Promise<Page>
  topics(): number
  /** True when no notification is pending. */
  isIdle(): boolean
}>

const liveReads = 4
const readsBehind = 2
/** Maximum time on the event loop before yielding. */
const maxBlockMs = 10
const maxBatchBytes = 64 * 1024
const streamsPerQuestion = 500

export function makeEventBus(deps: BusDeps): EventBus {
  const { db, log } = deps
  const topics = new Map<string, Topic>()
  const live = limitConcurrency(liveReads)
  const behind = limitConcurrency(readsBehind)

  const enter = async (stream: string): Promise<Topic> => {
    const head = topics.has(stream) ? 0 : await headOf(db, stream)
    const topic = topics.get(stream) ?? new Topic(stream, head) // a concurrent call may have created it
    topics.set(stream, topic)
    topic.users += 1
    return topic
  }
  const leave = (topic: Topic) => {
    topic.users -= 1
    if (topic.users === 0) topics.delete(topic.stream)
  }
  const notify = (stream: string) => {
    const topic = topics.get(stream)
    if (topic?.state === 'running') topic.state = 'again'
    if (topic?.state !== 'idle') return
    topic.state = 'queued'
    void live(() => run(topic))
  }
  const run = async (topic: Topic) => {
    topic.state = 'running'
    // A failed read is retried by the next poll.
    const isMore = await advance(deps, topic).catch((err) => log.warn({ err, stream: topic.stream }, 'events cannot be read'))
    const isAgain = (topic.state as Topic['state']) === 'again'
    topic.state = 'idle'
    if (isMore || isAgain) notify(topic.stream)
  }
  const poll = async () => {
    const streams = [...topics.keys()]
    for (let n = 0; n < streams.length; n += streamsPerQuestion) {
      const heads = await db
        .selectFrom('streams')
        .selectAll()
        .where('stream', 'in', streams.slice(n, n + streamsPerQuestion))
        .execute()
      for (const { stream, seq } of heads) if (Number(seq) > (topics.get(stream)?.position ?? Number.POSITIVE_INFINITY)) notify(stream)
    }
  }
  const readBehind = (stream: string, after: number) => behind(() => readPage(deps, { stream, after }))
  return {
    enter,
    leave,
    notify,
    poll,
    readBehind,
    topics: () => topics.size,
    isIdle: () => [...topics.values()].every(({ state }) => state === 'idle'),
  }
}

/** Publishes the next page; true if there may be more. */
async function advance(deps: BusDeps, topic: Topic): Promise<boolean> {
  const { revocations, clock } = deps
  const page = await readPage(deps, { stream: topic.stream, after: topic.position })
  // A user whose access was revoked before the event must not receive it.
  if (!revocations.fresh()) await revocations.readNow()
  const last = page.events.at(-1)
  if (page.hasGap && last) topic.miss(last.seq)
  else await publishPage(clock, topic, page)
  return page.isFull
}

/** Yields to the event loop, because sockets are flushed only there and a healthy client would look slow. */
async function publishPage(clock: Clock, topic: Topic, { events, isMember }: Page): Promise<void> {
  let breathedAt = clock.monotonicMs()
  let bytes = 0
  for (const one of events) {
    topic.publish(one, isMember)
    bytes += one.bytes?.length ?? 0
    if (bytes < maxBatchBytes && clock.monotonicMs() - breathedAt < maxBlockMs) continue
    await yieldToEventLoop()
    breathedAt = clock.monotonicMs()
    bytes = 0
  }
  await yieldToEventLoop()
}

/** Runs at most `max` tasks at a time; others wait in order of arrival. */
export function limitConcurrency(max: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = []
  let running = 0
  const leave = () => {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }
  return async (work) => {
    if (running >= max) await new Promise<void>((begin) => waiting.push(begin))
    else running += 1
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
