import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  ActionStatus,
  type EngineAction,
  type EngineCommand,
  explainWait,
  isInFlight,
  Phase,
  planSteps,
} from '../../../src/core/rollouts/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import {
  actionsToUpdate,
  type ClosedWindows,
  insertActions,
  noWindows,
  type StoredAction,
  untried,
} from '../../../src/daemon/rollouts/testing.ts'
import { onBothDialects } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'
import { anEngineAction } from '../../support/rollouts.ts'

const until = '2026-01-05T03:00:00.000Z'
const names = Array.from({ length: 60 }, (_, n) => `t${String(n).padStart(2, '0')}`)

const someActions = fc
  .array(
    fc.record({
      phase: fc.constantFrom<Phase>('canary', 'free_5', 'free_100'),
      status: fc.oneof(
        { weight: 6, arbitrary: fc.constant<ActionStatus>('pending') },
        { weight: 1, arbitrary: fc.constantFrom(...ActionStatus.options) },
      ),
      host: fc.nat(8),
      expectedMs: fc.nat(5),
      waived: fc.boolean(),
      told: fc.boolean(),
      held: fc.boolean(),
      window: fc.constantFrom('none', 'none', 'untold', 'told', 'opened', 'changed'),
    }),
    { maxLength: names.length },
  )
  .map((all) =>
    all.map(({ host, told, held, window, ...rest }, n) => {
      const stored = anEngineAction(names[n] as string, {
        ...rest,
        hostId: `h${host}`,
        hostName: `h${host}`,
        held: held ? { holder: 'move:x', until } : null,
        progress: told ? waitsFor('held by somebody') : null,
        ...(isInFlight(rest.status) ? { step: 'observe' as const, commandId: `cmd-${n}` } : {}),
      })
      return withWindow(rest.status === 'pending' && !told ? window : 'none', stored)
    }),
  )

const waitsFor = (detail: string) => ({ step: 'wait', detail, at: until })
const closed = { window: 'Europe/Berlin', until }
const toldOfWindow = { progress: waitsFor(explainWait(closed)), waitsUntil: until }

/** A box as it is stored, as the engine is to see it, and what is known of its window. */
type Known = Readonly<{
  stored: EngineAction & Partial<Pick<StoredAction, 'waitsUntil'>>
  seen: EngineAction
  closed: boolean
  untold: boolean
}>

/** `opened`: the hour that it waited for has come; `changed`: its tenant has another window now. */
function withWindow(window: 'none' | 'untold' | 'told' | 'opened' | 'changed', stored: EngineAction): Known {
  const held = stored.held ?? closed
  if (window === 'untold') return { stored, seen: { ...stored, held }, closed: true, untold: true }
  const told = { ...stored, ...toldOfWindow }
  if (window === 'told') return { stored: told, seen: { ...told, held }, closed: true, untold: false }
  if (window === 'opened') return { stored: told, seen: stored, closed: false, untold: false }
  if (window === 'changed') return { stored: told, seen: told, closed: false, untold: true }
  return { stored, seen: stored, closed: false, untold: false }
}

const windowsOf = (known: readonly Known[]): ClosedWindows => ({
  closed: new Map(known.filter((one) => one.closed).map(({ seen }) => [seen.slug, closed])),
  outdated: new Set(known.filter(({ untold }) => untold).map(({ seen }) => seen.slug)),
})

async function store(db: Db, rolloutId: string, actions: readonly Known['stored'][]): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('rollout_actions').execute()
    await insertActions(
      tx,
      actions.map((action) => storedAs(rolloutId, action)),
    )
  })
}

const storedAs = (rolloutId: string, { slug, hostId, phase, status, waived, step, commandId, progress, ...rest }: Known['stored']) =>
  ({
    ...untried,
    ...{ rolloutId, tenantSlug: slug, hostId, phase, status, waived, step, commandId, progress, waitsUntil: rest.waitsUntil ?? null },
    ...{ expectedMs: rest.expectedMs, expectedFenceMs: 0 },
    ...{ id: `${rolloutId}.${slug}`, boxId: `box_${slug}`, tier: 'free', attempt: 1, findings: [], rollback: null, from: {}, to: {} },
  }) as unknown as StoredAction

onBothDialects('the actions that the engine reads', (fresh, dialect) => {
  test('lead to the same steps as all actions', async () => {
    const db = await fresh()
    const rolloutId = await (await rolloutWorld(db, [{ slug: 'acme' }])).started()
    const property = fc.asyncProperty(
      ...[someActions, fc.constantFrom('canary', 'free_100', 'paused'), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 })],
      async (known, status, parallel, perHost) => {
        const actions = known.map(({ seen }) => seen)
        await store(
          db,
          rolloutId,
          known.map(({ stored }) => stored),
        )
        const limits = { parallel, perHost }
        const rollout = { kind: 'staged', status, failureThreshold: 2 } as const
        const holds = new Map(known.flatMap(({ stored: { slug, held } }) => (held ? [[slug, held] as const] : [])))
        const phase = Phase.options.find((one) => one === status)
        const inSight = await actionsToUpdate(db, { rolloutId, phase, holds, windows: windowsOf(known), limits })
        const steps = (seen: readonly EngineAction[]) =>
          planSteps({ rollout, actions: seen, commands: new Map<string, EngineCommand>() }, limits)
        const sorted = (all: ReturnType<typeof steps>) => all.map((step) => JSON.stringify(step)).sort()
        expect(sorted(steps(inSight))).toEqual(sorted(steps(actions)))
      },
    )
    await fc.assert(property, { numRuns: dialect === 'sqlite' ? 300 : 60 })
  })

  test('are few, however many boxes there are', async () => {
    const db = await fresh()
    const rolloutId = await (await rolloutWorld(db, [{ slug: 'acme' }])).started()
    const many = Array.from({ length: 2000 }, (_, n) =>
      anEngineAction(`t${n}`, { phase: 'canary', status: n < 900 ? 'succeeded' : 'pending' }),
    )
    await store(db, rolloutId, many)
    const wanted = { rolloutId, phase: 'canary', holds: new Map(), windows: noWindows, limits: { parallel: 3, perHost: 1 } } as const
    expect((await actionsToUpdate(db, wanted)).length).toBeLessThan(20)
  })
})
