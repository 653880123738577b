import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { Clock } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Revocations } from '../auth/index.ts'
import { type Db, headOf } from '../db/index.ts'
import { type MembersOf, type Page, readPage, Topic } from './topic.ts'

export type BusDeps = Readonly<{
  db: Db
  clock: Clock
  log: Logger
  membersOf: MembersOf
  /** Nothing is told before it is known who lost their standing. */
  revocations: Revocations
}>

/** The events of this process's listeners: read once per tenant, told to all who follow. */
export type EventBus = Readonly<{
  /** The topic of a stream, for somebody who listens; each is left again with `leave`. */
  enter(stream: string): Promise<Topic>
  leave(topic: Topic): void
  /** There may be something new in it. */
  wake(stream: string): void
  /** Reads what came in any stream that somebody listens to, whoever stored it. */
  look(): Promise<void>
  /** A page for one who is behind; few at a time, so that they hold up nobody who is not. */
  readBehind(stream: string, after: number): Promise<Page>
  topics(): number
  /** Nothing that it was woken for is still to be told. */
  isIdle(): boolean
}>

const liveReads = 4
const readsBehind = 2
/** Others get their turn after this time: a thousand clients take a while. */
const longestBreathMs = 10
const mostBytesAtOnce = 64 * 1024
const streamsPerQuestion = 500

export function makeEventBus(deps: BusDeps): EventBus {
  const { db, log } = deps
  const topics = new Map<string, Topic>()
  const live = inTurn(liveReads)
  const behind = inTurn(readsBehind)

  const enter = async (stream: string): Promise<Topic> => {
    const head = topics.has(stream) ? 0 : await headOf(db, stream)
    const topic = topics.get(stream) ?? new Topic(stream, head) // somebody else may have entered meanwhile
    topics.set(stream, topic)
    topic.users += 1
    return topic
  }
  const leave = (topic: Topic) => {
    topic.users -= 1
    if (topic.users === 0) topics.delete(topic.stream)
  }
  const wake = (stream: string) => {
    const topic = topics.get(stream)
    if (topic?.turn === 'running') topic.turn = 'again'
    if (topic?.turn !== 'idle') return
    topic.turn = 'queued'
    void live(() => run(topic))
  }
  const run = async (topic: Topic) => {
    topic.turn = 'running'
    // What failed is tried again when somebody looks next.
    const isMore = await advance(deps, topic).catch((err) => log.warn({ err, stream: topic.stream }, 'events cannot be read'))
    const isAgain = (topic.turn as Topic['turn']) === 'again'
    topic.turn = 'idle'
    if (isMore || isAgain) wake(topic.stream)
  }
  const look = async () => {
    const streams = [...topics.keys()]
    for (let n = 0; n < streams.length; n += streamsPerQuestion) {
      const heads = await db
        .selectFrom('streams')
        .selectAll()
        .where('stream', 'in', streams.slice(n, n + streamsPerQuestion))
        .execute()
      for (const { stream, seq } of heads) if (Number(seq) > (topics.get(stream)?.position ?? Number.POSITIVE_INFINITY)) wake(stream)
    }
  }
  const readBehind = (stream: string, after: number) => behind(() => readPage(deps, { stream, after }))
  return {
    enter,
    leave,
    wake,
    look,
    readBehind,
    topics: () => topics.size,
    isIdle: () => [...topics.values()].every(({ turn }) => turn === 'idle'),
  }
}

/** Tells the next page; true when there may be more. */
async function advance(deps: BusDeps, topic: Topic): Promise<boolean> {
  const { revocations, clock } = deps
  const page = await readPage(deps, { stream: topic.stream, after: topic.position })
  // Whoever lost their standing a second ago is told nothing of it.
  if (!revocations.fresh()) await revocations.readNow()
  const last = page.told.at(-1)
  if (page.hasGap && last) topic.miss(last.seq)
  else await tellAll(clock, topic, page)
  return page.isFull
}

/** Sockets take what was written only in between: a healthy client is not to look slow. */
async function tellAll(clock: Clock, topic: Topic, { told, isMember }: Page): Promise<void> {
  let breathedAt = clock.monotonicMs()
  let bytes = 0
  for (const one of told) {
    topic.tell(one, isMember)
    bytes += one.bytes?.length ?? 0
    if (bytes < mostBytesAtOnce && clock.monotonicMs() - breathedAt < longestBreathMs) continue
    await yieldToEventLoop()
    breathedAt = clock.monotonicMs()
    bytes = 0
  }
  await yieldToEventLoop()
}

/** Runs at most so many pieces of work at a time; the others wait in the order they came. */
export function inTurn(most: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = []
  let running = 0
  const leave = () => {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }
  return async (work) => {
    if (running >= most) await new Promise<void>((begin) => waiting.push(begin))
    else running += 1
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
