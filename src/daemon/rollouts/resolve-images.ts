import { type BoxCommandResult, type BoxId, boxCommands } from '../../core/boxes/index.ts'
import { type Clock, isProblem, newId, type Random } from '../../core/kit/index.ts'
import { combineAnswers, type HostToAsk, isSettled, type RegistryAnswer, type RegistryAnswers } from '../../core/rollouts/index.ts'
import type { Logger } from '../../node/index.ts'
import { boxById } from '../boxes/index.ts'
import type { Db } from '../db/index.ts'
import { awaitCommand, type Command, type CommandBus, enqueueCommand } from '../hosts/index.ts'

/** Resolves tags by their registries; an unresolved one has a reason. Takes ten seconds at most, and never fails. */
export type AskRegistries = (images: readonly string[], hosts: readonly HostToAsk[]) => Promise<RegistryAnswers>

type Deps = Readonly<{ db: Db; clock: Clock; random: Random; log: Logger; bus: CommandBus }>

/** An operator waits for the plan. */
const maxMs = 10_000
/** Two hosts must agree. A third may have a mirror, an account or a route that one of them lacks. */
const maxHosts = 3
const perHostMs = 5_000
/** Part of it for the transfer to the agent and back. */
const transferMs = 1_500
/** A registry gets at least a second. */
const minMs = transferMs + 1_000

const kind = 'tenant-box.resolve_images'

/** The Docker engines of hosts ask the registries, as they would pull: they have the mirrors, the accounts and the network. */
export function askRegistries(deps: Deps): AskRegistries {
  const { clock } = deps
  const ask = oneAtATime(clock, minMs, askHost(deps))
  return async (images, hosts) => {
    const untilMs = clock.monotonicMs() + maxMs
    const answers = new Map(images.map((image): [string, RegistryAnswer[]] => [image, []]))
    for (const round of [hosts.slice(0, 2), hosts.slice(2, maxHosts)]) {
      const open = images.filter((image) => !isSettled(answers.get(image) ?? [], hosts.length))
      const withinMs = Math.min(perHostMs, untilMs - clock.monotonicMs())
      if (round.length === 0 || open.length === 0 || withinMs < minMs) break
      for (const answered of await Promise.all(round.map((host) => ask(host, open, withinMs))))
        for (const [image, answer] of answered) answers.get(image)?.push(answer)
    }
    const input = [...answers].filter(([, all]) => all.length > 0)
    return new Map(input.map(([image, all]) => [image, combineAnswers(all, hosts.length)]))
  }
}

/** Asks once, however often the plan is made again. */
export function askedOnce(ask: AskRegistries): AskRegistries {
  let asked: Promise<RegistryAnswers> | undefined
  return (images, hosts) => {
    asked ??= ask(images, hosts)
    return asked
  }
}

const askHost =
  (deps: Deps): AskHost =>
  async (host, images, leftMs) => {
    const withinMs = Math.floor(leftMs) // the protocol has whole milliseconds
    const nothing = (why: string) => new Map(images.map((image) => [image, { digest: null, why: `${host.hostName}: ${why}` }] as const))
    try {
      const id = await ask(deps, host, { images, withinMs })
      if (id === undefined) return nothing('has no box of this plan any more')
      const command = await answerOf(deps, id, withinMs)
      if (command.status === 'succeeded') return answersBy(host, images, command)
      return nothing((command.status === 'failed' && command.error?.message) || `no answer within ${withinMs / 1000} s`)
    } catch (error) {
      if (isProblem(error)) return nothing(error.message)
      deps.log.error({ err: error, hostId: host.hostId }, 'a host could not be asked to resolve images')
      return nothing('internal error, see the log of the daemon')
    }
  }

/** The question names a box: an agent is asked only about boxes of its host. */
async function ask(
  { db, clock, random, bus }: Deps,
  { hostId, boxId }: HostToAsk,
  { images, withinMs }: Readonly<{ images: readonly string[]; withinMs: number }>,
): Promise<string | undefined> {
  const id = newId(random, 'cmd')
  const box = await boxById(db, boxId as BoxId)
  if (box?.hostId !== hostId) return undefined
  const payload = { slug: box.slug, boxId, ownershipEpoch: box.ownershipEpoch, images: [...images], withinMs: withinMs - transferMs }
  await db.transaction().execute((tx) => enqueueCommand(tx, clock, { id, hostId, boxId, kind, payload, deadlineMs: withinMs }))
  bus.queued(hostId)
  return id
}

async function answerOf({ db, clock, bus }: Deps, id: string, withinMs: number): Promise<Command> {
  const over = new AbortController()
  void clock.sleep(withinMs, over.signal).then(() => over.abort())
  try {
    return await awaitCommand({ db, bus }, id, over.signal)
  } finally {
    over.abort()
  }
}

function answersBy({ hostName }: HostToAsk, asked: readonly string[], { result }: Command): RegistryAnswers {
  const { images }: BoxCommandResult<typeof kind> = boxCommands[kind].result.parse(result)
  const byName = new Map(images.map((one) => [one.image, one]))
  return new Map(
    asked.map((image): readonly [string, RegistryAnswer] => {
      const { digest, error } = byName.get(image) ?? { digest: null, error: null }
      if (digest !== null) return [image, { digest, host: hostName }]
      const why = `${hostName}: ${error?.message ?? 'no reason given'}`
      return [image, { digest, host: hostName, why, missing: error?.code === 'IMAGE_NOT_FOUND' }]
    }),
  )
}

/** The answers of one host within the time given. Never fails. */
type AskHost = (host: HostToAsk, images: readonly string[], withinMs: number) => Promise<RegistryAnswers>

/** From the plan that is shown to the rollout that is created from it: both get the same answer. */
const answerTtlMs = 10_000

type Answer = Readonly<{ answer: RegistryAnswer; untilMs: number }>
type Asked = { answers: Map<string, Answer>; inFlight: Promise<void> | undefined }

/**
 * Every plan asks hosts, also the plans of viewers, and an agent that answers many questions takes no other work. So each host gets one question
 * at a time, and its answer counts for some seconds. With less than `minMs` left it is not asked.
 */
function oneAtATime(clock: Clock, minMs: number, ask: AskHost): AskHost {
  const hosts = new Map<string, Asked>()
  return async (host, images, withinMs) => {
    const untilMs = clock.monotonicMs() + withinMs
    const asked = hosts.get(host.hostId) ?? { answers: new Map(), inFlight: undefined }
    hosts.set(host.hostId, asked)
    const known = answersOf(clock, asked, images)
    if (known.size === images.length) return known
    const end = await lockHost(clock, asked, withinMs)
    if (!end) return new Map([...busy(host, images), ...known])
    try {
      const before = answersOf(clock, asked, images)
      const open = images.filter((image) => !before.has(image))
      const leftMs = untilMs - clock.monotonicMs()
      if (leftMs < minMs) return new Map([...busy(host, open), ...before])
      const now = open.length > 0 ? await ask(host, open, leftMs) : []
      for (const [image, answer] of now) asked.answers.set(image, { answer, untilMs: clock.monotonicMs() + answerTtlMs })
      return new Map([...before, ...now])
    } finally {
      end()
    }
  }
}

/** The recent answers about the images; older ones are deleted. */
function answersOf(clock: Clock, { answers }: Asked, images: readonly string[]): RegistryAnswers {
  for (const [image, { untilMs }] of answers) if (untilMs <= clock.monotonicMs()) answers.delete(image)
  return new Map(
    images.flatMap((image) => {
      const one = answers.get(image)
      return one ? [[image, one.answer] as const] : []
    }),
  )
}

const busy = ({ hostName }: HostToAsk, images: readonly string[]): RegistryAnswers =>
  new Map(images.map((image) => [image, { digest: null, why: `${hostName}: busy with other plans` }]))

/** First come, first served. Answers how to unlock; undefined where the lock was not free in time. */
async function lockHost(clock: Clock, asked: Asked, withinMs: number): Promise<(() => void) | undefined> {
  const before = asked.inFlight
  let end = (): void => undefined
  const mine = new Promise<void>((resolve) => {
    end = resolve
  })
  asked.inFlight = mine
  const over = () => {
    if (asked.inFlight === mine) asked.inFlight = undefined
    end()
  }
  if (!before || (await inTime(clock, before, withinMs))) return over
  void before.then(over)
  return undefined
}

async function inTime(clock: Clock, awaited: Promise<void>, ms: number): Promise<boolean> {
  const done = new AbortController()
  const isInTime = await Promise.race([awaited.then(() => true), clock.sleep(ms, done.signal).then(() => false)])
  done.abort()
  return isInTime
}
