import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { isoNow } from '../../../src/core/kit/index.ts'
import { parseWindow } from '../../../src/core/wall-clock/index.ts'
import { holdsOf } from '../../../src/daemon/boxes/index.ts'
import { rolloutLoop } from '../../../src/daemon/rollouts/index.ts'
import { abortRollout, listRollouts, pauseRollout, resumeRollout, rolloutsToRun, showAction } from '../../../src/daemon/rollouts/testing.ts'
import { changeTenant } from '../../../src/daemon/tenants/change-tenant.ts'
import { runLoop } from '../../../src/daemon/work/index.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { type BoxSpec, type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'

// Clocks in Berlin go from 02:00 to 03:00 on Sunday, the 29th of March 2026, at 01:00 UTC. A box takes 4 minutes, 3 of them without chat.

const berlin = 'Europe/Berlin'
const nights = 'sun 02:00-04:00'
const opens = '2026-03-29T01:00:00.000Z' // at 03:00, which is the first moment after 02:00 that there is
const nextOpens = '2026-04-05T00:00:00.000Z'
const saysOpens = 'waits for its maintenance window, opens at Sun 2026-03-29 03:00 Europe/Berlin (2026-03-29 01:00 UTC)'
const saysNextOpens = 'waits for its maintenance window, opens at Sun 2026-04-05 02:00 Europe/Berlin (2026-04-05 00:00 UTC)'

/** Time passes; agents are heard of and have reported lately. */
async function until(world: RolloutWorld, iso: string): Promise<void> {
  await world.clock.advance(Date.parse(iso) - world.clock.now().getTime())
  await world.heartbeat()
  await world.deps.db
    .updateTable('boxes')
    .set({ reported_at: isoNow(world.clock) })
    .execute()
}

const setWindow = (world: RolloutWorld, slug: string, window: string | null, timeZone = berlin) =>
  changeTenant(world.deps, anOperator, {
    slug,
    timeZone,
    maintenanceWindow: window === null || window === 'any' ? window : parseWindow(window),
  })

const actionOf = async (world: RolloutWorld, id: string, slug: string) =>
  (await world.show(id)).actions.find(({ tenantSlug }) => tenantSlug === slug)

/** What was told of a box while it waited. */
async function toldOf({ deps: { db } }: RolloutWorld, id: string, slug: string): Promise<unknown[]> {
  const { rows } = await sql<{ payload: string }>`select payload from events where stream = ${`rollout:${id}`} order by seq`.execute(db)
  const actions = rows.map(({ payload }) => JSON.parse(payload).action).filter((action) => action?.tenantSlug === slug)
  return actions.filter(({ status }) => status === 'pending').map(({ progress }) => progress?.detail ?? null)
}

onBothDialects('a rollout and maintenance windows', (fresh) => {
  /** A rollout that was started on Saturday at noon, and came as far as windows let it. */
  const onSaturday = async (boxes: readonly BoxSpec[], wanted: Parameters<RolloutWorld['started']>[0] = {}, windows = { acme: nights }) => {
    const world = await rolloutWorld(await fresh(), boxes)
    await until(world, '2026-03-28T12:00:00.000Z')
    for (const [slug, window] of Object.entries(windows)) await setWindow(world, slug, window)
    const id = await world.started({ fenceMode: 'until-stable', ...wanted })
    await world.settle()
    return { world, id }
  }
  const three = [{ slug: 'acme', canary: true }, { slug: 'beta', canary: true }, { slug: 'cora' }]

  test('a box waits for its window; the others of its phase go on, the next phase does not', async () => {
    const { world, id } = await onSaturday(three)
    expect(await world.statuses(id)).toEqual({ acme: 'pending', beta: 'succeeded', cora: 'pending' })
    expect(await actionOf(world, id, 'acme')).toMatchObject({
      waitsUntil: opens,
      progress: { step: 'wait', detail: saysOpens },
      attempt: 0,
    })
    expect(await holdsOf(world.deps.db, world.clock)).toEqual(new Map())
  })

  test('that it waits is told once, and the rollout says until when', async () => {
    const { world, id } = await onSaturday(three)
    for (let look = 0; look < 3; look++) await world.tick()
    expect(await toldOf(world, id, 'acme')).toEqual([saysOpens])
    expect(await world.show(id)).toMatchObject({ status: 'canary', waitingUntil: opens })
    expect((await listRollouts(world.deps, anOperator, { limit: 10 })).rollouts[0]).toMatchObject({ id, waitingUntil: opens })
  })

  test('it begins at the first look after the window opened, on the day when clocks are changed, and the rollout goes on', async () => {
    const { world, id } = await onSaturday(three)
    await until(world, '2026-03-29T00:59:59.000Z')
    await world.settle()
    expect(await world.statuses(id)).toMatchObject({ acme: 'pending' })
    await until(world, opens)
    await world.tick()
    expect(await actionOf(world, id, 'acme')).toMatchObject({ status: 'preflight', waitsUntil: null })
    expect((await world.show(id)).waitingUntil).toBeNull()
    await world.settle()
    expect(await world.show(id)).toMatchObject({ status: 'done', counts: { succeeded: 3 } })
    expect(await toldOf(world, id, 'acme')).toEqual([saysOpens])
  })

  test('the loop of the engine wakes for it by itself', async () => {
    const { world, id } = await onSaturday([{ slug: 'acme' }])
    const stop = new AbortController()
    await until(world, '2026-03-29T00:59:58.000Z')
    const loop = runLoop(world.deps, rolloutLoop(world.deps), stop.signal)
    const rest = async () => {
      while (world.clock.sleepers() === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await rest()
    expect(await world.open()).toEqual([])
    await world.clock.advance(20) // what comes together it looks at together
    await rest()
    await world.clock.advance(world.deps.settings.pollMs)
    await rest()
    expect((await world.open()).map((command) => command.id)).toEqual([`${id}.acme.1.observe`])
    stop.abort()
    await loop
  })

  test('when its chat would not be back before the window closes, it waits for the next one, and that is told', async () => {
    const { world, id } = await onSaturday([{ slug: 'acme' }])
    await until(world, '2026-03-29T01:55:25.000Z') // 4 min 35 s are left of the 4 min 36 s that it wants
    await world.settle()
    expect(await actionOf(world, id, 'acme')).toMatchObject({ status: 'pending', waitsUntil: nextOpens })
    expect(await toldOf(world, id, 'acme')).toEqual([saysOpens, saysNextOpens])
    await until(world, nextOpens) // a week later it is looked at as it is then, whatever the plan said
    await world.settle()
    expect((await world.show(id)).status).toBe('done')
  })

  test('what is just enough is enough', async () => {
    const { world, id } = await onSaturday([{ slug: 'acme' }])
    await until(world, '2026-03-29T01:55:24.000Z')
    await world.settle()
    expect((await world.show(id)).status).toBe('done')
  })

  test('a box whose window is open but that finds no free place says nothing, until its window closes', async () => {
    const boxes = ['acme', 'beta', 'cora', 'dora'].map((slug) => ({ slug, canary: true }))
    const { world, id } = await onSaturday(boxes, {}, Object.fromEntries(boxes.map(({ slug }) => [slug, nights])) as never)
    await until(world, opens)
    for (let look = 0; look < 3; look++) await world.tick()
    expect((await world.open()).map((command) => command.id)).toEqual(['acme', 'beta', 'cora'].map((slug) => `${id}.${slug}.1.observe`))
    expect(await toldOf(world, id, 'dora')).toEqual([saysOpens])
    expect((await world.show(id)).waitingUntil).toBeNull()
    await until(world, '2026-03-29T02:00:00.000Z')
    await world.tick()
    expect(await toldOf(world, id, 'dora')).toEqual([saysOpens, saysNextOpens])
  })

  test('images that take too long put the box off: nothing is stopped, it is given back, and tried again in the next window', async () => {
    const { world, id } = await onSaturday([{ slug: 'acme' }])
    await until(world, '2026-03-29T01:50:00.000Z')
    await world.tick()
    const [observe] = await world.open()
    if (observe) await world.work(observe)
    await world.tick()
    await until(world, '2026-03-29T01:57:00.000Z')
    const [prefetch] = await world.open()
    expect(prefetch?.id).toBe(`${id}.acme.1.prefetch`)
    if (prefetch) await world.work(prefetch)
    await world.settle()
    expect(await actionOf(world, id, 'acme')).toMatchObject({ status: 'pending', attempt: 1, waitsUntil: nextOpens })
    expect(await holdsOf(world.deps.db, world.clock)).toEqual(new Map())
    await until(world, nextOpens)
    await world.settle()
    expect((await world.show(id)).status).toBe('done')
    const { attempts } = await showAction(world.deps, { id, slug: 'acme' })
    expect(attempts.map(({ attempt, status, error }) => [attempt, status, error?.code])).toEqual([
      [1, 'cancelled', 'WINDOW_CLOSES'],
      [2, 'succeeded', undefined],
    ])
    expect(await world.commandIds()).not.toContain(`${id}.acme.1.update`)
  })

  test('put off after its rollout was rolled back with its boxes, it was not updated and does not wait to be brought back', async () => {
    const { world, id } = await onSaturday([{ slug: 'acme' }])
    await until(world, '2026-03-29T01:50:00.000Z')
    await world.tick()
    for (const command of await world.open()) await world.work(command)
    await world.tick()
    await until(world, '2026-03-29T01:57:00.000Z')
    await world.rollBack(id, 'images')
    await world.settle()
    expect(await actionOf(world, id, 'acme')).toMatchObject({ status: 'cancelled', rollback: null })
    expect(await rolloutsToRun(world.deps.db)).toEqual([])
  })

  describe('a window that is changed holds at once', () => {
    test.each(['any', null])('%s: it begins', async (window) => {
      const { world, id } = await onSaturday([{ slug: 'acme' }])
      await setWindow(world, 'acme', window)
      await world.settle()
      expect((await world.show(id)).status).toBe('done')
    })

    test('another one is told', async () => {
      const { world, id } = await onSaturday([{ slug: 'acme' }])
      await setWindow(world, 'acme', nights, 'UTC')
      await world.settle()
      await setWindow(world, 'acme', 'mon 00:00-01:00', 'Asia/Kolkata')
      await world.settle()
      expect(await toldOf(world, id, 'acme')).toEqual([
        saysOpens,
        'waits for its maintenance window, opens at Sun 2026-03-29 02:00 UTC',
        'waits for its maintenance window, opens at Mon 2026-03-30 00:00 Asia/Kolkata (2026-03-29 18:30 UTC)',
      ])
    })

    test('one that is too short by now is told with what to do', async () => {
      const { world, id } = await onSaturday([{ slug: 'acme' }])
      await setWindow(world, 'acme', 'sun 03:00-03:04')
      await world.settle()
      expect(await actionOf(world, id, 'acme')).toMatchObject({
        waitsUntil: null,
        progress: {
          detail: expect.stringMatching(/^its update needs about \d.*never open that long. fix: extend it with .*\(`--skip`\)$/),
        },
      })
    })

    test.each([
      ['before its chat went away: it is put off', 1, 'pending'],
      ['afterwards: it goes on', 2, 'succeeded'],
    ] as const)('for a box under way, %s', async (_, answers, status) => {
      const world = await rolloutWorld(await fresh(), [{ slug: 'acme' }])
      const id = await world.started()
      for (let step = 0; step < answers; step++) {
        await world.tick()
        for (const command of await world.open()) await world.work(command)
      }
      await world.tick()
      await setWindow(world, 'acme', nights)
      await world.settle()
      expect(await world.statuses(id)).toEqual({ acme: status })
    })
  })

  test('the window of a tier holds for tenants that say nothing, and not for those that want any time', async () => {
    const world = await rolloutWorld(await fresh(), [
      { slug: 'acme', canary: true },
      { slug: 'beta', canary: true },
    ])
    Object.assign(world.deps, { windows: { timeZone: berlin, windows: { free: parseWindow(nights), pro: null, enterprise: null } } })
    await until(world, '2026-03-28T12:00:00.000Z')
    await setWindow(world, 'beta', 'any')
    const id = await world.started()
    await world.settle()
    expect(await world.statuses(id)).toEqual({ acme: 'pending', beta: 'succeeded' })
    expect(await actionOf(world, id, 'acme')).toMatchObject({ waitsUntil: opens })
  })

  test('a rollout that was told to ignore windows does, and an operator’s name stands beside it', async () => {
    const { world, id } = await onSaturday(three, { ignoreWindows: true })
    const { status, ignoreWindows, auditLog, plan } = await world.show(id)
    expect({ status, ignoreWindows }).toEqual({ status: 'done', ignoreWindows: true })
    expect(plan.boxes.map(({ window }) => window)).toEqual([null, null, null])
    expect(auditLog[0]).toMatchObject({ action: 'rollout.created', actor: 'admin:anna', data: { ignoreWindows: true } })
  })

  test('an emergency does not look at windows', async () => {
    const { world, id } = await onSaturday([{ slug: 'acme' }])
    await world.deps.db.updateTable('rollouts').set({ kind: 'emergency_cve', status: 'free_100' }).execute()
    await world.deps.db.updateTable('rollout_actions').set({ phase: 'free_100' }).execute()
    await world.settle()
    expect((await world.show(id)).status).toBe('done')
  })

  test('a waiting box can be left out by hand, and the rollout goes on without it', async () => {
    const { world, id } = await onSaturday(three)
    await pauseRollout(world.deps, anOperator, { id, reason: 'acme need not wait' })
    expect((await world.show(id)).waitingUntil).toBeNull()
    await resumeRollout(world.deps, anOperator, { id, skipFailed: false, skip: ['acme'] })
    await world.settle()
    expect(await world.statuses(id)).toEqual({ acme: 'skipped', beta: 'succeeded', cora: 'succeeded' })
    expect(await actionOf(world, id, 'acme')).toMatchObject({ waitsUntil: null, progress: null })
  })

  test('a rollout that ends while boxes wait cancels them', async () => {
    const { world, id } = await onSaturday(three)
    await abortRollout(world.deps, anOperator, { id })
    expect(await actionOf(world, id, 'acme')).toMatchObject({ status: 'cancelled', waitsUntil: null })
    await until(world, opens)
    await world.settle()
    expect(await world.statuses(id)).toMatchObject({ acme: 'cancelled', cora: 'cancelled' })
  })
})
