import { expect } from 'vitest'
import type { BoxCommandPayload } from '../../src/core/boxes/index.ts'
import { isProblem } from '../../src/core/kit/index.ts'
import { isInFlight, isOver, phaseOf, type RolloutStatus } from '../../src/core/rollouts/index.ts'
import { verifyAudit } from '../../src/daemon/audit/verify-audit.ts'
import type { Command } from '../../src/daemon/hosts/index.ts'
import { createRollout } from '../../src/daemon/rollouts/create-rollout.ts'
import { makeRolloutEngine } from '../../src/daemon/rollouts/index.ts'
import { anOperator } from './boxes-room.ts'
import { interrupted, mortal } from './dying.ts'
import { historyOf, violationsIn } from './rollout-history.ts'
import type { Fate, RolloutWorld } from './rollout-world.ts'

/** What is expected of the rollout, from what was done to it; the rest is looked at in the world itself. */
export type RolloutModel = { status: RolloutStatus }

const former = '1.157.1'
const wanted = '1.163.2'
const changesBox = (kind: string) => kind === 'tenant-box.update' || kind === 'tenant-box.restore'
const slugOf = ({ payload }: Command): string => (payload as { slug: string }).slug

export type RolloutSubject = Awaited<ReturnType<typeof aSubject>>

/** A rollout that has not begun, two replicas, and agents that do what a test says; it knows which boxes are shut, and what each command did. */
export async function aSubject(world: RolloutWorld, failureThreshold: number) {
  const { needs, signal } = world
  const { id } = await createRollout(needs, anOperator, { skipRefused: false, allowLongFence: false, failureThreshold })
  const replicas = [world.engine, world.replica('replica-2')]
  const effects = new Map<string, number>()
  const fenced = new Set<string>()
  let born = 0

  const did = (command: Command) => {
    if (changesBox(command.kind)) effects.set(command.id, (effects.get(command.id) ?? 0) + 1)
  }
  /** A box that came to rest stays shut; every other outcome opens it. */
  const opens = (slug: string, fate: Fate) => {
    if (fate === 'rollback-fails') fenced.add(slug)
    else fenced.delete(slug)
  }
  // That the daemon cannot see through: a restore that says it was done.
  const possible = ({ kind }: Command, fate: Fate): Fate => (kind === 'tenant-box.restore' && fate === 'lies' ? 'commits' : fate)

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

  /** A replica that is killed after so many steps; its lease stays. */
  const tickMortally = async (steps: number) => {
    born += 1
    const { db } = mortal(needs.db, steps)
    await makeRolloutEngine({ ...needs, db, holder: `mortal-${born}` })
      .tick(signal)
      .catch(() => undefined)
  }

  /** The first replica looks; right before its n-th step, when it has decided already, something happens. */
  const tickMeanwhile = async (nth: number, happens: () => Promise<unknown>) => {
    const db = interrupted(needs.db, nth, happens)
    await makeRolloutEngine({ ...needs, db }).tick(signal)
  }

  const statusOf = async (): Promise<RolloutStatus> =>
    (await needs.db.selectFrom('rollouts').select('status').where('id', '=', id).executeTakeFirstOrThrow()).status as RolloutStatus

  return { world, id, replicas, effects, fenced, work, answerLate, take, tickMortally, tickMeanwhile, statusOf }
}

/** Nothing but a problem may be answered to a verb; its code, or undefined when it was done. */
export async function refusalOf(verb: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await verb()
    return undefined
  } catch (error) {
    if (!isProblem(error)) throw error
    return error.code
  }
}

/** What holds after everything that may happen. */
export async function expectSound(model: RolloutModel, subject: RolloutSubject): Promise<void> {
  const { world, id, effects } = subject
  const { status, actions } = await world.show(id)
  if (isOver(model.status)) expect(status).toBe(model.status)
  model.status = status
  const flying = actions.filter((action) => isInFlight(action.status))
  expect(flying.length).toBeLessThanOrEqual(3)
  expect(new Set(flying.map(({ hostId }) => hostId)).size).toBe(flying.length)
  for (const { tenantSlug, status, snapshotId } of actions) {
    const runs = world.installed.get(tenantSlug)?.synapse
    if (status === 'rolled_back') expect(`${tenantSlug} ${runs}`).toBe(`${tenantSlug} ${former}`)
    if (status === 'succeeded') expect(`${tenantSlug} ${runs} ${snapshotId !== null}`).toBe(`${tenantSlug} ${wanted} true`)
  }
  expect([...effects].filter(([, times]) => times !== 1)).toEqual([])
  const boxes = (await world.open()).map(({ boxId }) => boxId)
  expect(new Set(boxes).size).toBe(boxes.length)
}

/** What holds once whoever can has looked once more: nothing is shut that nobody was told of, and the whole story adds up. */
export async function expectSoundStory({ world, id, fenced, replicas }: RolloutSubject): Promise<void> {
  const { db } = world.needs
  await world.clock.advance(60_000)
  await world.heartbeat()
  await replicas[0]?.tick(world.signal)
  const open = new Set((await world.open()).map(slugOf))
  const alerts = await db.selectFrom('alerts').select(['subject', 'kind']).execute()
  const told = new Set(alerts.filter(({ kind }) => ['rollback_failed', 'deadline_overdue'].includes(kind)).map(({ subject }) => subject))
  expect([...fenced].filter((slug) => !open.has(slug) && !told.has(slug))).toEqual([])
  const { parallel, perHost } = world.needs.settings
  expect(violationsIn(await historyOf(db, id), { parallel, perHost })).toEqual([])
  expect((await verifyAudit({ db }, {})).filter(({ ok }) => !ok)).toEqual([])
}

export const isRunning = ({ status }: RolloutModel): boolean => phaseOf({ kind: 'staged', status }) !== undefined
