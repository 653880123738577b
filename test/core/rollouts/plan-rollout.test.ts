import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { type KnownBox, makespanMs, type PlanInput, planRollout } from '../../../src/core/rollouts/index.ts'
import { aManifest, aReport } from '../../support/boxes.ts'
import { aKnownBox } from '../../support/rollouts.ts'
import { synapseSchemas } from '../../support/synapse-schemas.ts'

const probe = { consecutive: 3, spacingMs: 60_000, timeoutMs: 1_800_000 }
const plan = (boxes: readonly KnownBox[], changes: Partial<PlanInput> = {}) =>
  planRollout({
    rolloutId: 'ro_x',
    kind: 'staged',
    manifest: aManifest({ synapse: '1.163.2' }),
    manifestRevision: 2,
    boxes,
    targetSlugs: null,
    history: [],
    fenceMode: 'until-stable',
    fences: { free: 'auto', pro: 'auto', enterprise: 'auto' },
    snapshots: { free: 'before', pro: 'before', enterprise: 'before' },
    probe,
    limits: { parallel: 3, perHost: 1 },
    now: '2026-01-05T02:10:00.000Z',
    staleAfterMs: 26 * 3_600_000,
    schemas: synapseSchemas,
    fenceMaxMs: 15 * 60_000,
    rehearsalMaxAgeMs: 14 * 86_400_000,
    allowLongFence: false,
    ...changes,
  })

type Past = PlanInput['history'][number]
const pastUpdates = (past: readonly Omit<Past, 'hostId' | 'downtime'>[]): Past[] =>
  past.map((one) => ({ ...one, hostId: `host-of-${one.slug}`, downtime: null }))

const atTarget = { installed: { ...aReport('beta').installed, synapse: '1.163.2' } }

test('a plan names phase, from, to and image of every box', () => {
  const { boxes, updates, refusals, phases } = plan([aKnownBox('acme'), aKnownBox('corp', { tier: 'pro', hostOnline: false })])
  expect(boxes.map(({ tenantSlug, phase, does }) => [tenantSlug, phase, does])).toEqual([
    ['acme', 'canary', 'update'],
    ['corp', 'pro', 'refuse'],
  ])
  expect(boxes[0]).toMatchObject({
    from: { synapse: '1.157.1' },
    to: { synapse: '1.163.2' },
    images: { synapse: { image: 'registry.example/synapse:v1.163.2', digest: null } },
  })
  expect({ updates, refusals }).toEqual({ updates: 1, refusals: 1 })
  expect(phases.map(({ slugs }) => slugs)).toEqual([['acme'], [], [], ['corp'], []])
})

test('a rollout of the whole fleet leaves observed boxes out; one that names such a box is refused', () => {
  const fleet = [aKnownBox('acme'), aKnownBox('wild', { managed: false })]
  const all = plan(fleet)
  expect(all.boxes[1]).toMatchObject({ does: 'skip', findings: [{ severity: 'warn', code: 'NOT_MANAGED' }] })
  expect(all.refusals).toBe(0)
  expect(plan(fleet, { targetSlugs: ['wild'] }).refusals).toBe(1)
})

test('a digest is told where another box runs that image already', () => {
  const digest = `sha256:${'a'.repeat(64)}`
  const ahead = aReport('zeta', {
    services: { synapse: { image: 'registry.example/synapse:v1.163.2', digest, state: 'running', restartCount: 0 } } as never,
  })
  const { boxes } = plan([aKnownBox('acme'), aKnownBox('zeta', { installed: { ...ahead.installed, synapse: '1.163.2' }, report: ahead })])
  expect(boxes[0]?.images.synapse?.digest).toBe(digest)
  expect(boxes[1]?.does).toBe('skip')
})

test('under a tag of which the fleet runs several images none is told', () => {
  const running = (slug: string, sign: string) => {
    const image = 'registry.example/synapse:v1.163.2'
    const synapse = { image, digest: `sha256:${sign.repeat(64)}`, state: 'running', restartCount: 0 }
    return aKnownBox(slug, { report: aReport(slug, { services: { synapse } as never }) })
  }
  const told = (...boxes: ReturnType<typeof running>[]) => plan([aKnownBox('acme'), ...boxes]).boxes[0]?.images.synapse?.digest
  expect(told(running('beta', 'a'), running('cora', 'a'))).toBe(`sha256:${'a'.repeat(64)}`)
  expect(told(running('beta', 'a'), running('cora', 'b'), running('dora', 'b'))).toBeNull()
})

test('targetSlugs narrow the scope before phases are chosen; a name that no box has is refused by name', () => {
  const fleet = [aKnownBox('acme'), aKnownBox('beta'), aKnownBox('corp', { tier: 'pro' })]
  const narrow = plan(fleet, { targetSlugs: ['corp', 'corp'] })
  expect(narrow.boxes.map(({ tenantSlug, phase }) => [tenantSlug, phase])).toEqual([['corp', 'canary']])
  expect(() => plan(fleet, { targetSlugs: ['acme', 'nobody'] })).toThrow(
    expect.toSatisfy((error) => isProblem(error, 'VALIDATION') && error.details?.[0]?.path === 'targetSlugs.1'),
  )
})

describe('expectations', () => {
  test('come from the spec’s probes while there is no history, from it afterwards', () => {
    const [fresh] = plan([aKnownBox('acme')]).boxes
    expect(fresh).toMatchObject({ expectedMs: 240_000, expectedFenceMs: 180_000 })
    const tier = 'free' as const
    const history = pastUpdates([
      { slug: 'acme', tier, durationMs: 300_000, fencedMs: 121_000 },
      { slug: 'acme', tier, durationMs: 999_000, fencedMs: 199_000 },
      { slug: 'beta', tier, durationMs: 500_000, fencedMs: 130_000 },
      { slug: 'corp', tier: 'pro' as const, durationMs: 5, fencedMs: 5 },
    ])
    const { boxes } = plan([aKnownBox('acme'), aKnownBox('zeta')], { history })
    expect(boxes.map(({ expectedMs, expectedFenceMs }) => [expectedMs, expectedFenceMs])).toEqual([
      [300_000, 121_000],
      [500_000, 130_000],
    ])
  })

  test('take no fence that was lifted early for a whole one: by it a box would begin in a window that is too short', () => {
    const early = { tier: 'free' as const, fencedMs: null }
    const history = pastUpdates([
      { slug: 'acme', durationMs: 100_000, ...early },
      { slug: 'beta', durationMs: 300_000, ...early },
    ])
    const { boxes } = plan([aKnownBox('acme'), aKnownBox('zeta')], { history })
    expect(boxes.map(({ expectedMs, expectedFenceMs }) => [expectedMs, expectedFenceMs])).toEqual([
      [100_000, 180_000],
      [100_000, 180_000],
    ])
    const whole = [...pastUpdates([{ slug: 'cora', tier: 'free' as const, durationMs: 300_000, fencedMs: 150_000 }]), ...history]
    expect(plan([aKnownBox('acme')], { history: whole }).boxes[0]).toMatchObject({ expectedMs: 100_000, expectedFenceMs: 150_000 })
  })

  test('grow with the database: its dump is made under the fence', () => {
    const [small, large] = plan([aKnownBox('acme', { databaseBytes: 0 }), aKnownBox('beta', { databaseBytes: 15e9 })]).boxes
    expect(small).toMatchObject({ expectedFenceMs: 180_000, findings: [] })
    expect(large).toMatchObject({ expectedFenceMs: 780_000, expectedMs: 840_000, does: 'update' })
  })

  test('of a chat that would be away for too long are refused, unless somebody wants that', () => {
    const fleet = [aKnownBox('acme', { databaseBytes: 30e9 }), aKnownBox('beta', { databaseBytes: 30e9, ...atTarget })]
    const refused = plan(fleet)
    expect(refused.boxes[0]).toMatchObject({
      does: 'refuse',
      findings: [
        {
          severity: 'refuse',
          code: 'LONG_FENCE',
          message: expect.stringMatching(/downtime of acme is 23 min, but fence.maxMinutes allows 15 min/),
        },
      ],
    })
    expect(refused.boxes[1]).toMatchObject({ does: 'skip', findings: [] })
    expect(plan(fleet, { allowLongFence: true }).boxes[0]).toMatchObject({
      does: 'update',
      findings: [{ severity: 'warn', code: 'LONG_FENCE' }],
    })
    const history = pastUpdates([{ slug: 'acme', tier: 'free' as const, durationMs: 100_000, fencedMs: 60_000 }])
    expect(plan(fleet, { history }).boxes[0]).toMatchObject({ does: 'update', findings: [] })
  })

  test('three workers take a third of the time, one host takes all of it', () => {
    const turns = Array.from({ length: 9 }, (_, n) => ({ slug: `t${n}`, hostId: `h${n}`, expectedMs: 100 }))
    expect(makespanMs(turns, { parallel: 3, perHost: 1 })).toBe(300)
    expect(
      makespanMs(
        turns.map((turn) => ({ ...turn, hostId: 'h' })),
        { parallel: 3, perHost: 1 },
      ),
    ).toBe(900)
  })

  test('on hosts of their own the queue is never far from the bound of its workers', () => {
    const times = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(times, (list) => {
        const turns = list.map((expectedMs, n) => ({ slug: `t${n}`, hostId: `h${n}`, expectedMs }))
        // The last to end began when no worker was idle.
        const bound = list.reduce((a, b) => a + b, 0) / 3 + (Math.max(...list) * 2) / 3
        expect(makespanMs(turns, { parallel: 3, perHost: 1 })).toBeLessThanOrEqual(bound + 1e-6)
      }),
    )
  })

  test('10,000 boxes are planned in a moment', () => {
    const fleet = Array.from({ length: 10_000 }, (_, n) => aKnownBox(`t${n}`, { hostId: `h${n % 1000}` }))
    expect(plan(fleet).updates).toBe(10_000)
  })
})

describe('a box that was rolled back', () => {
  const past = {
    slug: 'acme',
    rolloutId: 'ro_1',
    at: '2026-01-04T10:00:00.000Z',
    from: aReport('acme').installed,
    to: { ...aReport('acme').installed, synapse: '1.163.2' },
    reason: 'users report\nerrors',
  }

  test('from the target of the plan is a warning with the reason', () => {
    const { boxes, warnings, updates } = plan([aKnownBox('acme'), aKnownBox('beta')], { rollbacks: [past] })
    const message = 'acme was rolled back from synapse 1.163.2 on 2026-01-04 by rollout ro_1: users report errors'
    expect(boxes.map(({ findings }) => findings)).toEqual([[{ severity: 'warn', code: 'ROLLED_BACK', message }], []])
    expect({ warnings, updates }).toEqual({ warnings: 1, updates: 2 })
  })

  test.each([
    ['from another version', {}, { ...past, to: { ...past.to, synapse: '1.160.0' } }],
    ['while it is at the target', atTarget, past],
  ])('%s is none', (_, box, rollback) => {
    expect(plan([aKnownBox('acme', box)], { rollbacks: [rollback] }).warnings).toBe(0)
  })
})
