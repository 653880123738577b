import semver from 'semver'
import { expect } from 'vitest'
import type { BoxCommandPayload } from '../../src/core/boxes/index.ts'
import { isProblem } from '../../src/core/kit/index.ts'
import { isInFlight, isOver, phaseOf, type RolloutDetail, type RolloutStatus } from '../../src/core/rollouts/index.ts'
import { verifyAudit } from '../../src/daemon/audit/read-audit.ts'
import type { Command } from '../../src/daemon/hosts/index.ts'
import { makeRolloutEngine } from '../../src/daemon/rollouts/index.ts'
import { createRollout } from '../../src/daemon/rollouts/testing.ts'
import { anOperator } from './boxes-world.ts'
import { interrupted, mortal } from './dying.ts'
import { historyOf, violationsIn } from './rollout-history.ts'
import type { Fate, RolloutWorld } from './rollout-world.ts'

/** The state of the rollout expected after its operations; the rest is read from the world itself. */
export type RolloutModel = { status: RolloutStatus }

const changesBox = (kind: string) => kind === 'tenant-box.update' || kind === 'tenant-box.restore'
const slugOf = ({ payload }: Command): string => (payload as { slug: string }).slug

export type RolloutSubject = Awaited<ReturnType<typeof aSubject>>

/** A queued rollout, two replicas and scripted agents; records fenced boxes and the effects of each command. */
export async function aSubject(world: RolloutWorld, failureThreshold: number) {
  const { deps, signal } = world
  const { id } = await createRollout(deps, anOperator, { skipRefused: false, allowLongFence: false, failureThreshold })
  const replicas = [world.engine, world.replica('replica-2')]
  const effects = new Map<string, number>()
  const fenced = new Set<string>()
  /** The rollout that last changed each box. */
  const changedBy = new Map<string, string>()
  const emergencies: string[] = []
  let born = 0

  const did = (command: Command) => {
    if (!changesBox(command.kind)) return
    effects.set(command.id, (effects.get(command.id) ?? 0) + 1)
    changedBy.set(slugOf(command), command.id.split('.')[0] as string)
  }
  /** A quarantined box stays fenced; every other outcome unfences it. */
  const opens = (slug: string, fate: Fate) => {
    if (fate === 'rollback-fails') fenced.add(slug)
    else fenced.delete(slug)
  }
  // The daemon cannot detect a restore that reports success without effect; only a prefetch ends as a failed pull.
  const possible = ({ kind }: Command, fate: Fate): Fate => {
    if (kind === 'tenant-box.restore' && fate === 'lies') return 'commits'
    return changesBox(kind) && fate === 'pull-fails' ? 'fails' : fate
  }

  const work = async (command: Command, told: Fate) => {
    const [slug, fate] = [slugOf(command), possible(command, told)]
    world.fates.set(slug, [fate])
    if (changesBox(command.kind)) opens(slug, fate)
    if (!(changesBox(command.kind) && fate === 'refuses')) did(command)
    await world.work(command)
    world.fates.delete(slug)
  }

  const answerLate = async (command: Command, told: Fate) => {
    const [slug, fate] = [slugOf(command), possible(command, told)]
    world.fates.set(slug, [fate === 'pull-fails' || fate === 'refuses' ? 'fails' : fate])
    opens(slug, fate)
    did(command)
    const update = command.payload as BoxCommandPayload<'tenant-box.update'>
    const restore = command.payload as BoxCommandPayload<'tenant-box.restore'>
    const isUpdate = command.kind === 'tenant-box.update'
    await world.answer(command.id, isUpdate ? world.updated(slug, update.targets) : world.restored(slug, restore.snapshotId))
    world.fates.delete(slug)
  }

  const take = async (command: Command) => {
    if (changesBox(command.kind)) fenced.add(slugOf(command))
    await world.take(command.id)
  }

  /** A replica that is killed after n steps; its lease stays. */
  const tickMortally = async (steps: number) => {
    born += 1
    const { db } = mortal(deps.db, steps)
    await makeRolloutEngine({ ...deps, db, owner: `mortal-${born}` })
      .tick(signal)
      .catch(() => undefined)
  }

  /** Runs a hook right before the n-th step of the first replica, after its decision. */
  const tickMeanwhile = async (nth: number, happens: () => Promise<unknown>) => {
    const db = interrupted(deps.db, nth, happens)
    await makeRolloutEngine({ ...deps, db }).tick(signal)
  }

  const statusOf = async (): Promise<RolloutStatus> =>
    (await deps.db.selectFrom('rollouts').select('status').where('id', '=', id).executeTakeFirstOrThrow()).status as RolloutStatus

  return { world, id, emergencies, replicas, effects, fenced, changedBy, work, answerLate, take, tickMortally, tickMeanwhile, statusOf }
}

/** A verb may fail with a problem only; returns its code, or undefined on success. */
export async function refusalOf(verb: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await verb()
    return undefined
  } catch (error) {
    if (!isProblem(error)) throw error
    return error.code
  }
}

/** The invariants after any operation. */
export async function expectSound(model: RolloutModel, subject: RolloutSubject): Promise<void> {
  const { world, id, emergencies, effects } = subject
  const staged = await world.show(id)
  if (isOver(model.status)) expect(staged.status).toBe(model.status)
  model.status = staged.status
  const others = await Promise.all(emergencies.map(world.show))
  for (const rollout of [staged, ...others]) expectSoundActions(subject, rollout)
  expectEmergenciesKept(subject, staged, others)
  expect([...effects].filter(([, times]) => times !== 1)).toEqual([])
  const boxes = (await world.open()).filter(({ kind }) => changesBox(kind)).map(({ boxId }) => boxId)
  expect(new Set(boxes).size).toBe(boxes.length)
}

/** The expected action of a box that no operation changed afterwards. */
function expectSoundActions({ world, changedBy }: RolloutSubject, { id, actions }: RolloutDetail): void {
  const flying = actions.filter((action) => isInFlight(action.status))
  expect(flying.length).toBeLessThanOrEqual(3)
  expect(new Set(flying.map(({ hostId }) => hostId)).size).toBe(flying.length)
  for (const { tenantSlug, status, snapshotId, from, to } of actions) {
    if (changedBy.get(tenantSlug) !== id) continue
    const runs = world.installed.get(tenantSlug)?.synapse
    if (status === 'rolled_back') expect(`${tenantSlug} ${runs}`).toBe(`${tenantSlug} ${from.synapse}`)
    if (status === 'succeeded') expect(`${tenantSlug} ${runs} ${snapshotId !== null}`).toBe(`${tenantSlug} ${to.synapse} true`)
  }
}

/** A staged rollout yields: no box moves below the version that an emergency brought or left in place. */
function expectEmergenciesKept({ world }: RolloutSubject, staged: RolloutDetail, emergencies: readonly RolloutDetail[]): void {
  const begun = emergencies.filter(({ startedAt }) => startedAt !== null)
  if (begun.some(({ status }) => !isOver(status))) expect(isRunning(staged)).toBe(false)
  const kept = begun.filter(({ status, actions }) => status !== 'rolled_back' || actions.every(({ rollback }) => rollback === null))
  const open = kept.flatMap(({ id, actions }) =>
    actions.flatMap(({ tenantSlug, status, findings, to }) => {
      const runs = world.installed.get(tenantSlug)?.synapse as string
      const isFixed = status === 'succeeded' || (status === 'skipped' && findings.length === 0)
      return isFixed && semver.lt(runs, to.synapse) ? [`${tenantSlug} runs ${runs} though ${id} brought ${to.synapse}`] : []
    }),
  )
  expect(open).toEqual([])
}

/** The invariants after every replica has run again: no box is fenced without a report, and the history is consistent. */
export async function expectSoundStory({ world, id, emergencies, fenced, replicas }: RolloutSubject): Promise<void> {
  const { db } = world.deps
  await world.clock.advance(60_000)
  await world.heartbeat()
  await replicas[0]?.tick(world.signal)
  const open = new Set((await world.open()).map(slugOf))
  const alerts = await db.selectFrom('alerts').select(['subject', 'kind', 'key']).execute()
  const told = new Set(
    alerts.filter(({ kind, key }) => kind === 'box_down' || key.startsWith('update_failed:overdue:')).map(({ subject }) => subject),
  )
  expect([...fenced].filter((slug) => !open.has(slug) && !told.has(slug))).toEqual([])
  const { parallel, perHost } = world.deps.settings
  expect(violationsIn(await historyOf(db, id), { parallel, perHost })).toEqual([])
  for (const emergency of emergencies)
    expect(violationsIn(await historyOf(db, emergency), { parallel, perHost, kind: 'emergency_cve' })).toEqual([])
  expect((await verifyAudit({ db }, {})).filter(({ ok }) => !ok)).toEqual([])
}

export const isRunning = ({ status }: Pick<RolloutModel, 'status'>): boolean => phaseOf({ kind: 'staged', status }) !== undefined
