import type { createClient } from 'redis'
import type { Clock } from '../../core/kit/index.ts'
import type { Taken } from '../../core/limits/index.ts'
import type { Logger } from '../../node/index.ts'
import { askedTogether } from './asked-together.ts'
import type { BudgetStore } from './budget-store.ts'
import { busyScript, giveBackScript, type Script, serverSeconds, takeScript, usedScript } from './redis-scripts.ts'
import { whileAnswering } from './while-answering.ts'

type Deps = Readonly<{
  clock: Clock
  log: Logger
  url: string
  deadlineMs: number
  /** Lua that answers whole seconds; the default is the server's clock, tests move theirs. */
  seconds?: string
}>

/** Whether the server answers, beside what it counts. */
export type RedisStore = BudgetStore & Readonly<{ isUp(): boolean }>

const indexKey = 'tenantry:windows'
const windowPrefix = 'tenantry:window:'
const keyOf = (tenantId: string) => windowPrefix + tenantId
/** Takes and gives back here: a server that cannot write does not answer, whatever it says. */
const probeName = '(probe)'
/** Keys in one script, which holds up everybody else while it runs. */
const mostAtOnce = 500

/**
 * Budgets that all replicas share, counted by one atomic script for the requests of one moment, by the server's clock. While the server is away every call is refused at
 * once with UNAVAILABLE; it comes back by itself.
 */
export async function redisStore({ clock, log, url, deadlineMs, seconds = serverSeconds }: Deps): Promise<RedisStore> {
  const scripts = { take: takeScript(seconds), used: usedScript(seconds), busy: busyScript(seconds) }
  // Hundreds of files: only a daemon that is given a server loads them.
  const redis = await import('redis')
  let client = connect(redis.createClient, url)
  const reconnect = () => {
    client.destroy()
    client = connect(redis.createClient, url)
  }
  const run = (script: Script, keys: readonly string[], more: readonly string[] = []) => runScript(client, script, keys, more)
  const takeAll = async (wanted: readonly Wanted[]) => {
    const keys = wanted.map(({ tenantId }) => keyOf(tenantId))
    const budgets = wanted.map(({ budget }) => String(budget))
    return ((await run(scripts.take, [indexKey, ...keys], budgets)) as number[]).map(takenOf)
  }
  const probe = async () => {
    await takeAll([{ tenantId: probeName, budget: 1000 }])
    await run(giveBackScript, [keyOf(probeName)])
  }
  const server = await whileAnswering({ clock, log, deadlineMs, probe, reconnect })

  const take = askedTogether(mostAtOnce, (wanted: readonly Wanted[]) => server.ask(() => takeAll(wanted)))
  const usedBy = async (tenantIds: readonly string[]) => {
    const counts: number[] = []
    for (let from = 0; from < tenantIds.length; from += mostAtOnce) {
      const keys = tenantIds.slice(from, from + mostAtOnce).map(keyOf)
      counts.push(...((await server.ask(() => run(scripts.used, keys))) as number[]))
    }
    return counts
  }
  return {
    name: 'redis',
    take: (tenantId, budget) => take({ tenantId, budget }),
    giveBack: async (tenantId) => void (await server.ask(() => run(giveBackScript, [keyOf(tenantId)]))),
    used: async (tenantId) => (await usedBy([tenantId]))[0] as number,
    busy: async () => {
      const keys = (await server.ask(() => run(scripts.busy, [indexKey]))) as string[]
      const tenantIds = keys.map((key) => key.slice(windowPrefix.length)).filter((id) => id !== probeName)
      const counts = await usedBy(tenantIds)
      return new Map(tenantIds.map((id, index) => [id, counts[index] as number] as const).filter(([, count]) => count > 0))
    },
    isUp: server.isUp,
    close: async () => {
      server.close()
      client.destroy()
    },
  }
}

type Wanted = Readonly<{ tenantId: string; budget: number }>

const takenOf = (answer: number): Taken =>
  answer >= 0 ? { accepted: true, used: answer } : { accepted: false, retryAfterSeconds: -answer }

type Client = Pick<ReturnType<typeof createClient>, 'sendCommand' | 'destroy'>

/** A connection that is made anew for as long as it is wanted; what is asked meanwhile fails at once. */
function connect(make: typeof createClient, url: string): Client {
  const client = make({
    url,
    name: 'tenantryd',
    disableOfflineQueue: true,
    socket: { connectTimeout: 2000, reconnectStrategy: (retries) => Math.min(100 * 2 ** retries, 2000) },
  })
  client.on('error', () => undefined) // what it means for requests is told by who asks
  client.connect().catch(() => undefined)
  return client
}

/** By its name, and whole when the server does not know it (any more). */
function runScript(client: Client, { sha, text }: Script, keys: readonly string[], more: readonly string[]): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...more]
  return client.sendCommand(['EVALSHA', sha, ...rest]).catch((error: Error) => {
    if (!error.message.startsWith('NOSCRIPT')) throw error
    return client.sendCommand(['EVAL', text, ...rest])
  })
}
