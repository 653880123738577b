import { quoted } from '../../../core/alerts/index.ts'
import { type Actor, actorLabel, isoNow, plural, problem } from '../../../core/kit/index.ts'
import {
  type ActionRollback,
  inFlightStatuses,
  isInFlight,
  isOver,
  manifestCommand,
  planRollback as plan,
  type RollbackMode,
  type RollbackPlan,
  type Rollout,
  refusalsOf,
  refusalText,
  rolloutWord,
  stillAskedText,
  transition,
} from '../../../core/rollouts/index.ts'
import { raiseAlert } from '../../alerts/index.ts'
import { requestCheckpoint } from '../../audit/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { actionsOf, replaceAction, type StoredAction } from '../actions.repo.ts'
import { changeWithOpenRolloutsLocked } from '../change-rollout.ts'
import type { RolloutsDeps, VerbDeps } from '../deps.ts'
import { assertNoEmergencyBeside } from '../emergency/assert-no-emergency.ts'
import { fixesAround } from '../emergency/emergencies.repo.ts'
import { knownBoxes } from '../known-boxes.ts'
import { stillAskedOf } from '../manifest-still-asking.ts'
import { activeRollouts } from '../open-rollouts.repo.ts'
import {
  cancelPending,
  closeRolloutAlerts,
  publishActions,
  publishEvent,
  type RolloutTx,
  recordRolloutAudit,
  streamOf,
} from '../publish.ts'
import { replaceRollout, rolloutById, type StoredRollout } from '../rollouts.repo.ts'
import { completedUpdates } from './completed-updates.repo.ts'

type Deps = VerbDeps & RollbackDeps & Pick<RolloutsDeps, 'assertSnapshotsConfigured'>
type Input = Readonly<{ id: string; reason: string; boxes: 'none' | RollbackMode; skipRefused: boolean }>

/**
 * Ends the rollout as `rolled_back` at once, and requests the rollback of its updated boxes where `boxes` says how: the engine does it, box by
 * box. Boxes in flight finish first. A finished rollout keeps its status; only its boxes are rolled back. Throws INVALID_TRANSITION, CONFIG,
 * PLAN_REFUSED for boxes that cannot be rolled back, ROLLOUT_ACTIVE for boxes of a finished rollout that an unfinished one includes, and
 * CONFLICT for boxes beside an emergency: it would count them as fixed although they are about to leave its versions.
 */
export const rollbackRollout = (deps: Deps, actor: Actor, { id, reason, boxes, skipRefused }: Input): Promise<Rollout> =>
  changeWithOpenRolloutsLocked(deps, id, async (step) => {
    const { tx, clock, rollout, others } = step
    const isFinished = isOver(rollout.status)
    if (isFinished) assertMayReintroduce(actor, rollout)
    if (isFinished) await assertBoxesLeft(tx, rollout, boxes)
    const after = isFinished ? { ...rollout, error: reason } : transition(rollout, { type: 'rollback', reason, at: isoNow(clock) })
    const ended = { tx, clock, rollout: after }
    if (boxes !== 'none') deps.assertSnapshotsConfigured()
    if (boxes !== 'none') assertNoEmergencyBeside(rollout, others, 'boxes are rolled back after it')
    const marked = boxes === 'none' ? [] : await markedForRollback(deps, step, { mode: boxes, skipRefused })
    if (isFinished) await assertNoneActive(tx, id, marked)
    await replaceRollout(tx, rollout, ended.rollout)
    const rollbacks = marked.filter(({ after }) => after.rollback?.status === 'pending').length
    // The last box that is rolled back requests it again.
    if (!isFinished || rollbacks === 0) await requestCheckpoint(tx, clock, { chain: streamOf(id) })
    // The events of boxes come before the end of the rollout: followers of the stream leave at that one.
    const cancelled = await cancelPending(step)
    for (const { before, after } of marked) await replaceAction(tx, before, after)
    await publishActions(
      step,
      marked.map(({ after }) => after),
    )
    await publishEvent(ended, { type: 'rollout.rolled_back', reason })
    await closeRolloutAlerts(ended, 'over')
    await raiseAlert(tx, clock, {
      kind: 'rollout_rolled_back',
      subject: id,
      severity: boxes === 'none' ? 'info' : 'warning',
      title: `Rollout ${id} was rolled back by ${quoted(actorLabel(actor), 80)}`,
      body: `Reason: ${quoted(reason)}\n${effects[boxes]} No further box is started.${await manifestAdvice(tx, marked)}`,
      command: `tenantry rollouts show ${id}`,
    })
    const leftAsTheyAre = marked.filter(({ after }) => after.rollback?.status === 'failed').map(({ before }) => before.tenantSlug)
    const data = { reason, cancelled: cancelled.length, cancelledBoxes: cancelled, boxes, rollbacks, leftAsTheyAre }
    await recordRolloutAudit(ended, { actor, action: 'rollout.rolled_back', data })
    return []
  })

/** Names the manifest that still asks for the versions; a refused box stays as updated and does not count. */
async function manifestAdvice(tx: DbOrTx, marked: readonly Marked[]): Promise<string> {
  const boxes = marked.flatMap(({ after: { tier, from, to, rollback } }) =>
    rollback === null || rollback.status === 'failed' ? [] : [{ tier, from, to, mode: rollback.mode }],
  )
  const asked = await stillAskedOf(tx, boxes)
  return asked ? `\n${stillAskedText(asked)} To prevent that: ${manifestCommand(asked)}` : ''
}

const effects = {
  none: 'Updated boxes stay updated.',
  images: 'Updated boxes are rolled back to their previous images, newest first.',
  snapshot: 'Updated boxes are restored from the snapshot before their update, newest first. Data written since is lost.',
} as const satisfies Record<Input['boxes'], string>

/** Throws INVALID_TRANSITION where a finished rollout has no box to roll back, with what can be done instead. */
async function assertBoxesLeft(db: DbOrTx, { id, status }: StoredRollout, boxes: Input['boxes']): Promise<void> {
  const updated = await actionsOf(db, id, [...inFlightStatuses, 'succeeded', 'rolled_back', 'rollback_failed', 'failed'])
  if (updated.some(({ rollback }) => rollback !== null))
    throw notAgain(
      id,
      `its boxes were rolled back already; \`tenantry rollouts rollback ${id} --resume\` retries boxes whose rollback failed. fix: restore any single box`,
    )
  if (!updated.some(({ status }) => status === 'succeeded' || isInFlight(status)))
    throw notAgain(id, `it is finished (${rolloutWord(status)}) and updated no box. fix: restore single boxes`)
  if (boxes !== 'none') return
  throw problem(
    'INVALID_TRANSITION',
    `rollout ${id} is finished (${rolloutWord(status)}); only its boxes can be rolled back. fix: preview it with \`tenantry rollouts rollback ${id} --boxes images --plan\``,
  )
}

/** Throws FORBIDDEN: rolling back a finished emergency removes its fix, so it takes the role that starts one, and no API token. */
function assertMayReintroduce(actor: Actor, { id, kind, cveId }: StoredRollout): void {
  if (kind !== 'emergency_cve' || actor.kind === 'system' || (actor.kind === 'admin' && actor.role === 'admin')) return
  throw problem(
    'FORBIDDEN',
    `rolling back the finished emergency ${id} makes its boxes vulnerable to ${cveId ?? 'its CVE'} again. fix: log in as a person with the role admin`,
  )
}

const notAgain = (id: string, reason: string) =>
  problem(
    'INVALID_TRANSITION',
    `rollout ${id} cannot be rolled back: ${reason} with \`tenantry snapshots restore <slug> --snapshot <id> --reason <why>\` ` +
      '(`tenantry snapshots list --slug <slug>` lists the snapshots from before the update)',
  )

/** An unfinished rollout would update a box before or after its rollback, in an undefined order. */
async function assertNoneActive(tx: DbOrTx, id: string, marked: readonly Marked[]): Promise<void> {
  const toRollBack = marked.filter(({ after }) => after.rollback?.status === 'pending').map(({ before }) => before.tenantSlug)
  const [first] = await activeRollouts(tx, toRollBack, id)
  if (!first) return
  throw problem(
    'ROLLOUT_ACTIVE',
    `rollout ${first.rolloutId} (${first.status}) has not finished and includes ${first.slugs.slice(0, 5).join(', ')}. ` +
      `fix: wait for its end (\`tenantry rollouts watch ${first.rolloutId}\`) or abort it, then roll back ${id}`,
  )
}

type Marked = Readonly<{ before: StoredAction; after: StoredAction }>
type Wish = Readonly<{ mode: RollbackMode; skipRefused: boolean }>

/** Updated boxes and those in flight, each with its rollback; `failed` from the start where the plan refuses it. */
async function markedForRollback(deps: Deps, { tx, rollout }: RolloutTx, { mode, skipRefused }: Wish): Promise<Marked[]> {
  const plan = await rollbackPlanOf({ ...deps, db: tx }, rollout, mode)
  if (!skipRefused) assertNoneRefused(plan)
  const refusals = new Map(refusedIn(plan).map((box) => [box.tenantSlug, refusalText(box.findings)]))
  const actions = await actionsOf(tx, rollout.id, ['succeeded', ...inFlightStatuses])
  const back = new Set(plan.boxes.filter(({ does }) => does === 'skip').map(({ tenantSlug }) => tenantSlug))
  const rollbackOf = ({ tenantSlug }: StoredAction): ActionRollback => {
    const message = refusals.get(tenantSlug)
    if (message === undefined) return { mode, status: 'pending', error: null }
    return { mode, status: 'failed', error: { code: 'PREFLIGHT_REFUSED', message } }
  }
  const isBack = { status: 'rolled_back', rolledBack: true, rollback: { mode, status: 'done', error: null } } as const
  return actions.map((before) => ({
    before,
    after: { ...before, ...(back.has(before.tenantSlug) ? isBack : { rollback: rollbackOf(before) }) },
  }))
}

const refusedIn = ({ boxes }: RollbackPlan) => boxes.filter(({ does }) => does === 'refuse')

function assertNoneRefused(plan: RollbackPlan): void {
  const { rolloutId, mode, refusals } = plan
  if (refusals === 0) return
  const codes = (box: RollbackPlan['boxes'][number]) => refusalsOf(box.findings).map(({ code }) => code)
  const refused = refusedIn(plan).map((box) => `${box.tenantSlug}: ${codes(box).join(', ')}`)
  const some = `${refused.slice(0, 5).join('; ')}${refused.length > 5 ? '; …' : ''}`
  throw problem(
    'PLAN_REFUSED',
    `${plural(refusals, 'box', 'boxes')} cannot be rolled back by ${mode} (${some}). ` +
      `fix: skip them with \`tenantry rollouts rollback ${rolloutId} --boxes ${mode} --skip-refused --reason '…'\``,
    { violations: refused.slice(0, 100) },
  )
}

type RollbackDeps = Pick<RolloutsDeps, 'clock' | 'staleAfterMs' | 'offlineAfterMs' | 'schemas' | 'windows'>

type PlanInput = Readonly<{ id: string; boxes: RollbackMode }>

/**
 * Which updated boxes could be rolled back, how, and which data they would lose; stores nothing. Throws NOT_FOUND, and INVALID_TRANSITION
 * for a rollout that cannot be rolled back.
 */
export async function planRollback(deps: RollbackDeps & Pick<RolloutsDeps, 'db'>, { id, boxes }: PlanInput): Promise<RollbackPlan> {
  const rollout = await rolloutById(deps.db, id)
  const isFinished = isOver(rollout.status)
  if (isFinished) await assertBoxesLeft(deps.db, rollout, boxes)
  else transition(rollout, { type: 'rollback', reason: 'preview', at: isoNow(deps.clock) })
  const made = await rollbackPlanOf({ ...deps, db: deps.db }, rollout, boxes)
  if (!isFinished) return made
  const slugs = made.boxes.filter(({ does }) => does === 'rollback').map(({ tenantSlug }) => tenantSlug)
  return { ...made, activeRollouts: await activeRollouts(deps.db, slugs, id) }
}

/** The same in the transaction that acts upon the plan. */
async function rollbackPlanOf(
  { db, ...deps }: RollbackDeps & Readonly<{ db: DbOrTx }>,
  rollout: StoredRollout,
  mode: RollbackMode,
): Promise<RollbackPlan> {
  const { staleAfterMs, schemas } = deps
  return plan({
    rolloutId: rollout.id,
    mode,
    updates: await completedUpdates(db, { rolloutId: rollout.id }),
    fixes: await fixesAround(db, rollout),
    boxes: new Map((await knownBoxes(deps, db)).map((box) => [box.slug, box])),
    now: isoNow(deps.clock),
    staleAfterMs,
    schemas,
  })
}
