import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ActionStatus, decide, type EngineAction, type EngineCommand, isInFlight, Phase } from '../../../src/core/rollouts/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { insertActions, type StoredAction } from '../../../src/daemon/rollouts/actions.repo.ts'
import { actionsInSight } from '../../../src/daemon/rollouts/engine/actions-in-sight.repo.ts'
import { untried } from '../../../src/daemon/rollouts/queue-rollout.ts'
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
    }),
    { maxLength: names.length },
  )
  .map((all) =>
    all.map(({ host, told, held, ...rest }, n) =>
      anEngineAction(names[n] as string, {
        ...rest,
        hostId: `h${host}`,
        hostName: `h${host}`,
        held: held ? { holder: 'move:x', until } : null,
        progress: told ? { step: 'wait', detail: 'held by somebody', at: until } : null,
        ...(isInFlight(rest.status) ? { step: 'observe' as const, commandId: `cmd-${n}` } : {}),
      }),
    ),
  )

async function stored(db: Db, rolloutId: string, actions: readonly EngineAction[]): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('rollout_actions').execute()
    await insertActions(
      tx,
      actions.map((action) => storedAs(rolloutId, action)),
    )
  })
}

const storedAs = (rolloutId: string, { slug, hostId, phase, status, waived, step, commandId, progress, expectedMs }: EngineAction) =>
  ({
    ...untried,
    ...{ rolloutId, tenantSlug: slug, hostId, phase, status, waived, step, commandId, progress, expectedMs },
    ...{ id: `${rolloutId}.${slug}`, boxId: `box_${slug}`, tier: 'free', attempt: 1, findings: [], undo: null, from: {}, to: {} },
  }) as unknown as StoredAction

onBothDialects('the actions that the engine looks at', (fresh, dialect) => {
  test('lead to the same steps as all of them', async () => {
    const db = await fresh()
    const rolloutId = await (await rolloutWorld(db, [{ slug: 'acme' }])).started()
    const property = fc.asyncProperty(
      ...[someActions, fc.constantFrom('canary', 'free_100', 'paused'), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 })],
      async (actions, status, parallel, perHost) => {
        await stored(db, rolloutId, actions)
        const limits = { parallel, perHost }
        const rollout = { id: rolloutId, kind: 'staged', status, failureThreshold: 2, holdAfter: null } as const
        const holds = new Map(actions.flatMap(({ slug, held }) => (held ? [[slug, held] as const] : [])))
        const phase = Phase.options.find((one) => one === status)
        const inSight = await actionsInSight(db, { rolloutId, phase, holds, limits })
        const steps = (seen: readonly EngineAction[]) => decide(rollout, seen, new Map<string, EngineCommand>(), limits)
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
    await stored(db, rolloutId, many)
    const wanted = { rolloutId, phase: 'canary', holds: new Map(), limits: { parallel: 3, perHost: 1 } } as const
    expect((await actionsInSight(db, wanted)).length).toBeLessThan(20)
  })
})
