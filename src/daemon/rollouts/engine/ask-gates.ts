import { isoNow } from '../../../core/kit/index.ts'
import { afterAnswer, type GateAnswer, type GateState, gateText, isGateDue, phaseOf } from '../../../core/rollouts/index.ts'
import type { LeasedLoop } from '../../feature/index.ts'
import type { RolloutsDeps } from '../deps.ts'
import { askNobody } from '../prometheus.ts'
import { engineActor, publishEvent, recordRolloutAudit } from '../publish.ts'
import { lockRollout, replaceRollout, rolloutsAtGates, type StoredRollout } from '../rollouts.repo.ts'

// Prometheus is asked here, beside the engine: a slow answer holds no rollout up. The engine decides by what is stored.

type Deps = Pick<RolloutsDeps, 'db' | 'clock' | 'log' | 'rolloutBus' | 'prometheus' | 'settings'>

/** Asks the gates of every rollout whose phase is baked. One replica at a time does. */
export const gatesLoop = (deps: Deps): LeasedLoop => ({
  name: 'ask gates',
  everyMs: deps.settings.pollMs,
  lease: { name: 'gates', ttlMs: Math.max(30_000, deps.settings.pollMs * 4) },
  listen: deps.rolloutBus.listen,
  run: ({ signal }) => askGates(deps, signal),
})

/** Asks every gate that is due, once. An error is logged, and asked again at the next round: the trouble of one rollout stops no other. */
export async function askGates(deps: Deps, signal: AbortSignal): Promise<void> {
  for (const rollout of await rolloutsAtGates(deps.db, isoNow(deps.clock))) {
    if (signal.aborted) return
    await askRollout(deps, rollout, signal).catch((error: unknown) => {
      // Questions end with the daemon, and are asked by the next one.
      if (!signal.aborted)
        deps.log.error({ rolloutId: rollout.id, err: error }, 'the gates of a rollout could not be asked, which is retried')
    })
  }
}

type Asked = Readonly<{ name: string; before: string | null; answer: GateAnswer }>

async function askRollout(deps: Deps, rollout: StoredRollout, signal: AbortSignal): Promise<void> {
  const at = isoNow(deps.clock)
  const due = rollout.gates.filter((gate) => isGateDue(gate, at))
  if (due.length === 0) return
  const ask = deps.prometheus ?? askNobody
  const asked = await Promise.all(due.map(async ({ name, query, at }) => ({ name, before: at, answer: await ask(query, signal) })))
  if (await storeAnswers(deps, { rollout, asked, at })) deps.rolloutBus.changed(rollout.id)
}

type Answers = Readonly<{ rollout: StoredRollout; asked: readonly Asked[]; at: string }>

/** Nothing is stored where the rollout was paused, or bakes again, or another replica asked meanwhile. */
const storeAnswers = ({ db, clock }: Deps, { rollout: before, asked, at }: Answers): Promise<boolean> =>
  db.transaction().execute(async (tx) => {
    const rollout = await lockRollout(tx, before.id)
    const phase = phaseOf(rollout)
    if (phase === undefined || phase !== phaseOf(before) || rollout.bakeUntil !== before.bakeUntil) return false
    const answered = new Map(asked.map(({ name, before, answer }) => [name, { before, answer }]))
    const gates = rollout.gates.map((gate) => {
      const question = answered.get(gate.name)
      return question && question.before === gate.at ? afterAnswer(gate, question.answer, at) : gate
    })
    const changed = gates.filter((gate) => !rollout.gates.includes(gate))
    if (changed.length === 0) return false
    const step = { tx, clock, rollout: { ...rollout, gates } }
    await replaceRollout(tx, rollout, step.rollout)
    await publishEvent(step, { type: 'rollout.gates' })
    for (const gate of changed)
      await recordRolloutAudit(step, { actor: engineActor, action: 'rollout.gate', data: { phase, ...evidenceOf(gate) } })
    return true
  })

/** One question, with all that is needed to ask it again. */
const evidenceOf = (gate: GateState) => {
  const { name, query, atMost, atLeast, forMs, onNoAnswer, at, value, noAnswer, state } = gate
  return { gate: name, query, atMost, atLeast, forMs, onNoAnswer, askedAt: at, value, noAnswer, state, reason: gateText(gate) }
}
