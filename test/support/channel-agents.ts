import type { BoxCommandPayload, BoxCommandResult } from '../../src/core/boxes/index.ts'
import { type AgentActor, isoNow, isProblem } from '../../src/core/kit/index.ts'
import { storeProgress, storeResult } from '../../src/daemon/hosts/command-results.ts'
import type { HostsDeps } from '../../src/daemon/hosts/index.ts'
import { nextCommand } from '../../src/daemon/hosts/next-command.ts'
import { Died } from './dying.ts'
import { digestOf, type RolloutWorld } from './rollout-world.ts'

type InHand = { leaseToken: number; result: unknown }

/**
 * The agents of a rollout world over the daemon's real channel: leases, progress, results. They keep a journal, so that a
 * command handed out twice takes effect once, and deliver an outcome until the daemon accepts it.
 */
export function channelAgents(world: RolloutWorld) {
  /** Number of effects per command. */
  const effects = new Map<string, number>()
  const journal = new Map<string, unknown>()
  const hands = new Map<string, Map<string, InHand>>()

  const results: Record<string, (payload: never) => unknown> = {
    'tenant-box.report_versions': ({ slug }: { slug: string }) => ({ report: world.reportOf(slug) }),
    'tenant-box.prefetch': ({ targets }: BoxCommandPayload<'tenant-box.prefetch'>): BoxCommandResult<'tenant-box.prefetch'> => ({
      digests: Object.fromEntries(Object.values(targets.services).map(({ image }) => [image, digestOf(image)])),
      pulledMs: 1000,
    }),
    'tenant-box.update': ({ slug, targets }: BoxCommandPayload<'tenant-box.update'>) => world.updated(slug, targets),
  }

  const effectOf = (id: string, kind: string, payload: unknown): unknown => {
    if (journal.has(id)) return journal.get(id)
    effects.set(id, (effects.get(id) ?? 0) + 1)
    const result = results[kind]?.(payload as never)
    journal.set(id, result)
    return result
  }

  /** Retries failed requests. */
  const unlessKilled = async <Answer>(work: Promise<Answer>): Promise<Answer | undefined> => {
    try {
      return await work
    } catch (error) {
      if (error instanceof Died || (isProblem(error) && error.retryable)) return undefined
      throw error
    }
  }

  /** One pass of an agent: deliver results, fetch commands, run them, deliver again. Undelivered results stay for the next pass. */
  const turn = async (replica: () => HostsDeps, hostId: string): Promise<void> => {
    const agent: AgentActor = { kind: 'agent', hostId, name: hostId, instanceId: 'agent-1' }
    const hand = hands.get(hostId) ?? new Map<string, InHand>()
    hands.set(hostId, hand)
    const deliver = async () => {
      for (const [id, { leaseToken, result }] of [...hand])
        if (await unlessKilled(storeResult(replica(), { agent, held: { id, leaseToken } }, { ok: true, result }))) hand.delete(id)
    }
    await deliver()
    const holding = [...hand].map(([id, { leaseToken }]) => ({ id, leaseToken }))
    const command = await unlessKilled(nextCommand(replica(), { agent, poll: { holding, room: 'all' } }, world.signal))
    if (!command) return
    const { id, kind, payload, leaseToken } = command
    hand.set(id, { leaseToken, result: effectOf(id, kind, payload) })
    const progress = [{ step: 'stop', at: isoNow(world.clock) }]
    if (kind === 'tenant-box.update') await unlessKilled(storeProgress(replica(), { agent, held: { id, leaseToken } }, progress))
    await deliver()
  }
  return { effects, turn }
}
