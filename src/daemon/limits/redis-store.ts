import type { createClient } from 'redis'
import { type Clock, problem } from '../../core/kit/index.ts'
import type { Taken } from '../../core/limits/index.ts'
import type { Logger } from '../../node/index.ts'
import type { BudgetStore } from './budget-store.ts'
import { circuitBreaker } from './circuit-breaker.ts'
import { busyScript, giveBackScript, type Script, serverSeconds, takeScript, usedScript } from './redis-scripts.ts'

type Deps = Readonly<{
  clock: Clock
  log: Logger
  url: string
  deadlineMs: number
  /** Lua expression for the current second. Default: the server's clock; tests set their own. */
  seconds?: string
}>

/** Throws CONFIG_INVALID for an address that the client cannot read. The reason is left out: it may quote a password. */
export async function assertRedisUrl(url: string): Promise<void> {
  const { createClient } = await import('redis')
  try {
    createClient({ url })
  } catch {
    throw problem('CONFIG_INVALID', 'The Redis address cannot be read. fix: write it as redis://user:password@host:6379/0')
  }
}

export type RedisStore = BudgetStore & Readonly<{ isUp(): boolean }>

const indexKey = 'tenantry:busy'
const windowPrefix = 'tenantry:seconds:'
const keyOf = (tenantId: string) => windowPrefix + tenantId
/** The probe writes to this window: a server that cannot write counts as down. */
const probeName = '(probe)'
/** Keys per script; Redis blocks while a script runs. */
const maxKeys = 500

/**
 * Counts for all replicas, with one atomic script per request. While the server is unavailable, calls throw UNAVAILABLE at once; it
 * reconnects by itself.
 */
export async function redisStore({ clock, log, url, deadlineMs, seconds = serverSeconds }: Deps): Promise<RedisStore> {
  const scripts = { take: takeScript(seconds), used: usedScript(seconds), busy: busyScript(seconds) }
  // Loaded on demand: the client has hundreds of files.
  const redis = await import('redis')
  let client = connect(redis.createClient, url)
  const reconnect = () => {
    client.destroy()
    client = connect(redis.createClient, url)
  }
  const run = (script: Script, keys: readonly string[], more: readonly string[] = []) => runScript(client, script, { keys, more })
  const take = async (tenantId: string, budget: number) =>
    takenOf((await run(scripts.take, [indexKey, keyOf(tenantId)], [String(budget)])) as number)
  const probe = async () => {
    await take(probeName, 1000)
    await run(giveBackScript, [keyOf(probeName)])
  }
  const server = await circuitBreaker({ clock, log, deadlineMs, probe, reconnect })

  const usedBy = async (tenantIds: readonly string[]) => {
    const counts: number[] = []
    for (let from = 0; from < tenantIds.length; from += maxKeys) {
      const keys = tenantIds.slice(from, from + maxKeys).map(keyOf)
      counts.push(...((await server.ask(() => run(scripts.used, keys))) as number[]))
    }
    return counts
  }
  return {
    name: 'redis',
    take: (tenantId, budget) => server.ask(() => take(tenantId, budget)),
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

const takenOf = (answer: number): Taken =>
  answer >= 0 ? { accepted: true, used: answer } : { accepted: false, retryAfterSeconds: -answer }

type Client = Pick<ReturnType<typeof createClient>, 'sendCommand' | 'destroy'>

/** A connection that reconnects until destroyed; commands fail at once while it is down. */
function connect(make: typeof createClient, url: string): Client {
  const client = make({
    url,
    name: 'tenantryd',
    disableOfflineQueue: true,
    socket: { connectTimeout: 2000, reconnectStrategy: (retries) => Math.min(100 * 2 ** retries, 2000) },
  })
  client.on('error', () => undefined) // failed commands report the outage
  client.connect().catch(() => undefined)
  return client
}

/** Runs a script by SHA, or by text if the server does not have it. */
function runScript(
  client: Client,
  { sha, text }: Script,
  { keys, more }: Readonly<{ keys: readonly string[]; more: readonly string[] }>,
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...more]
  return client.sendCommand(['EVALSHA', sha, ...rest]).catch((error: Error) => {
    if (!error.message.startsWith('NOSCRIPT')) throw error
    return client.sendCommand(['EVAL', text, ...rest])
  })
}
