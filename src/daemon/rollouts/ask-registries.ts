import { type BoxCommandResult, type BoxId, boxCommands } from '../../core/boxes/index.ts'
import { type Clock, isProblem, newId, type Random } from '../../core/kit/index.ts'
import type { HostToAsk, RegistryAnswer, RegistryAnswers } from '../../core/rollouts/index.ts'
import type { Logger } from '../../node/index.ts'
import { boxById } from '../boxes/index.ts'
import type { Db } from '../db/index.ts'
import { awaitCommand, type Command, type CommandBus, enqueueCommand } from '../hosts/index.ts'
import { type AskHost, askInTurn } from './ask-in-turn.ts'

/** What tags are now, by the words of their registries; what nobody could tell has a reason. Takes ten seconds at most, and never fails. */
export type AskRegistries = (images: readonly string[], hosts: readonly HostToAsk[]) => Promise<RegistryAnswers>

type Deps = Readonly<{ db: Db; clock: Clock; random: Random; log: Logger; bus: CommandBus }>

/** Somebody waits before a screen, and an emergency waits for nothing. */
const longestMs = 10_000
/** Another host may have what one lacks: a mirror, an account, a way to the registry. */
const mostHosts = 3
const perHostMs = 5_000
/** Of that, for the question's way to the agent and the answer's way back. */
const wayMs = 1_500
/** A registry that has less than a second is not worth the question. */
const leastMs = wayMs + 1_000

const kind = 'tenant-box.resolve_images'

/** Registries are asked by the engines of hosts, as these would pull: only they have the mirrors, the accounts and the way there. */
export function askRegistries(deps: Deps): AskRegistries {
  const { clock } = deps
  const ask = askInTurn(clock, leastMs, askHost(deps))
  return async (images, hosts) => {
    const untilMs = clock.monotonicMs() + longestMs
    const told = new Map<string, RegistryAnswer>()
    for (const host of hosts.slice(0, mostHosts)) {
      const open = images.filter((image) => !told.get(image)?.digest)
      const withinMs = Math.min(perHostMs, untilMs - clock.monotonicMs())
      if (open.length === 0 || withinMs < leastMs) break
      for (const [image, answer] of await ask(host, open, withinMs)) told.set(image, joined(told.get(image), answer))
    }
    return told
  }
}

/** However often a plan is made anew, hosts are waited for once. */
export function askedOnce(ask: AskRegistries): AskRegistries {
  let asked: Promise<RegistryAnswers> | undefined
  return (images, hosts) => {
    asked ??= ask(images, hosts)
    return asked
  }
}

/** What the first of several said against it stands first: its box is the first that would pull. */
const joined = (before: RegistryAnswer | undefined, now: RegistryAnswer): RegistryAnswer =>
  before?.digest === null && now.digest === null ? { digest: null, why: `${before.why}; ${now.why}` } : now

const askHost =
  (deps: Deps): AskHost =>
  async (host, images, leftMs) => {
    const withinMs = Math.floor(leftMs) // the wire knows whole ones only
    const nothing = (why: string) => new Map(images.map((image) => [image, { digest: null, why: `${host.hostName}: ${why}` }] as const))
    try {
      const id = await ask(deps, host, images, withinMs)
      if (id === undefined) return nothing('it has no box there any more')
      const command = await answerOf(deps, id, withinMs)
      if (command.status === 'succeeded') return saidBy(host, images, command)
      return nothing((command.status === 'failed' && command.error?.message) || `no answer within ${withinMs / 1000} s`)
    } catch (error) {
      // A plan is made without it too.
      if (isProblem(error)) return nothing(error.message)
      deps.log.error({ err: error, hostId: host.hostId }, 'a host could not be asked what tags are')
      return nothing('a fault of the daemon, of which its log tells more')
    }
  }

/** The question is about a box, for only the host that has it may be heard of it. */
async function ask(
  { db, clock, random, bus }: Deps,
  { hostId, boxId }: HostToAsk,
  images: readonly string[],
  withinMs: number,
): Promise<string | undefined> {
  const id = newId(random, 'cmd')
  const box = await boxById(db, boxId as BoxId)
  if (box?.hostId !== hostId) return undefined
  const payload = { slug: box.slug, boxId, ownershipEpoch: box.ownershipEpoch, images: [...images], withinMs: withinMs - wayMs }
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

function saidBy({ hostName }: HostToAsk, asked: readonly string[], { result }: Command): RegistryAnswers {
  const { images }: BoxCommandResult<typeof kind> = boxCommands[kind].result.parse(result)
  const byName = new Map(images.map((one) => [one.image, one]))
  return new Map(
    asked.map((image) => {
      const { digest, error } = byName.get(image) ?? { digest: null, error: null }
      return [image, digest === null ? { digest, why: `${hostName}: ${error?.message ?? 'it did not say'}` } : { digest, host: hostName }]
    }),
  )
}
