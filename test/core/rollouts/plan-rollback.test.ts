import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BoxFacts, VersionsReport } from '../../../src/core/boxes/index.ts'
import { type CompletedUpdate, type KnownBox, planBoxRollback, planRollback } from '../../../src/core/rollouts/index.ts'
import { aReport } from '../../support/boxes.ts'
import { aKnownBox } from '../../support/rollouts.ts'
import { synapseSchemas } from '../../support/synapse-schemas.ts'

const limits = {
  now: '2026-01-05T05:12:00.000Z',
  staleAfterMs: 26 * 3_600_000,
  schemas: synapseSchemas,
  fixes: { since: [], before: [] },
}
const before = { migrationsHead: '0000', postgres: '17.5', synapse: '1.157.1', minio: 'RELEASE.2025-07-23T15-54-02Z' }
const after = { migrationsHead: '0001', postgres: '17.6', synapse: '1.163.2', minio: 'RELEASE.2025-09-07T16-13-09Z' }
const images = { synapse: 'r/synapse:v1.157.1', postgres: 'r/postgres:17.5', minio: 'r/minio:old', edge: 'r/edge:1' }
const old = { synapse: 'sha256:s1', postgres: 'sha256:p1', minio: 'sha256:m1', edge: 'sha256:e1' }
const fresh = { ...old, synapse: 'sha256:s2' }

const anUpdate = (change: Partial<CompletedUpdate> = {}): CompletedUpdate => ({
  slug: 'acme',
  boxId: 'box_acme',
  hostId: 'hst_of_acme',
  finishedAt: '2026-01-05T02:05:00.000Z',
  from: { ...after, synapse: before.synapse },
  to: after,
  imagesBefore: images,
  digestsBefore: old,
  digestsAfter: fresh,
  backgroundBefore: [],
  snapshot: { snapshotId: 'abcdef0123456789', sha256: 'f'.repeat(64), takenAt: '2026-01-05T02:00:00.000Z', status: 'present' },
  ...change,
})

const facts: BoxFacts = {
  ...{ schemaVersion: 94, compatVersion: 84, backgroundUpdates: [], collation: 'C', libc: 'glibc' },
  ...{ mediaBytes: null, objectBytes: null, freeDiskBytes: null, otherServices: [], wouldRecreate: [], composeChanged: false },
  ...{ notRestorable: [], scaledServices: [] },
}

type Seen = Readonly<{
  box?: Partial<KnownBox>
  report?: Partial<VersionsReport>
  facts?: Partial<BoxFacts>
  digests?: Partial<typeof old>
}>

const aBox = ({ box = {}, report = {}, facts: changed = {}, digests = {} }: Seen = {}): KnownBox => {
  const services = Object.entries({ ...fresh, ...digests }).map(([service, digest]) => {
    return [service, { image: `r/${service}`, digest, state: 'running', restartCount: 0 }]
  })
  const said = aReport('acme', { services: Object.fromEntries(services), facts: { ...facts, ...changed }, ...report })
  return aKnownBox('acme', { installed: after, report: said, reportedAt: limits.now, ...box })
}

/** Beside that of the positions of apps, which is told of every older release. */
const codes = (mode: 'images' | 'snapshot', update: CompletedUpdate, box: KnownBox | undefined) =>
  planBoxRollback({ mode, update, box }, limits)
    .findings.map(({ severity, code }) => `${severity} ${code}`)
    .filter((found) => found !== 'warn SYNC_POSITIONS')

test('a box that still runs what it was given goes back either way', () => {
  const byImages = planBoxRollback({ mode: 'images', update: anUpdate(), box: aBox() }, limits)
  expect(byImages).toMatchObject({ does: 'rollback', losesSince: null, losesMs: 0, snapshotId: null, from: after })
  expect(byImages.images).toEqual({ synapse: { image: images.synapse, digest: old.synapse } })
  expect(byImages.to).toEqual({ ...after, synapse: before.synapse })
  const bySnapshot = planBoxRollback({ mode: 'snapshot', update: anUpdate(), box: aBox() }, limits)
  expect(bySnapshot).toMatchObject({ does: 'rollback', images: {}, snapshotId: 'abcdef0123456789' })
  expect(bySnapshot).toMatchObject({ losesSince: '2026-01-05T02:00:00.000Z', losesMs: (3 * 60 + 12) * 60_000 })
})

test('a later update of another service, which the snapshot would revert, is named', () => {
  const box = aBox({ box: { installed: { ...after, postgres: '17.7' } }, digests: { postgres: 'sha256:p2' } })
  expect(planBoxRollback({ mode: 'snapshot', update: anUpdate(), box }, limits)).toMatchObject({
    does: 'refuse',
    findings: expect.arrayContaining([
      expect.objectContaining({
        message: expect.stringMatching(/^acme also changed after this rollout \(postgres 17\.6 → 17\.7\).*snapshot.*revert.*fix: /),
      }),
    ]),
  })
})

describe('an emergency', () => {
  const fix = { emergency: 'cve-20260105-abcd2345', cveId: 'CVE-2026-12345', overAt: null }
  const found = (mode: 'images' | 'snapshot', versions: object, box = aBox()) =>
    planBoxRollback({ mode, update: anUpdate(), box }, { ...limits, fixes: { since: [{ ...fix, versions }], before: [] } }).findings.find(
      ({ code }) => code === 'REINTRODUCES_CVE',
    )

  test.each(['images', 'snapshot'] as const)('that began since then keeps a box by %s from versions that have its hole', (mode) => {
    const holes = ['CVE-2026-12345', 'synapse 1.157.1', fix.emergency, '1.163.2', '--allow-vulnerable']
    for (const word of holes) expect(found(mode, { synapse: '1.163.2' })?.message).toContain(word)
    expect(found(mode, { synapse: '1.160.0' })?.severity).toBe('refuse')
  })

  test('that began before the rollout keeps none from it, and is told', () => {
    const fixes = { since: [], before: [{ ...fix, versions: { synapse: '1.163.2' } }] }
    const { does, findings } = planBoxRollback({ mode: 'images', update: anUpdate(), box: aBox() }, { ...limits, fixes })
    expect(does).toBe('rollback')
    expect(findings).toContainEqual({
      severity: 'warn',
      code: 'REINTRODUCES_CVE',
      message: expect.stringContaining('as before this rollout'),
    })
  })

  test('that began since then keeps none from what is not older than its fix, or about another component, or open already', () => {
    expect(found('images', { synapse: '1.157.1' })).toBe(undefined)
    expect(found('images', { postgres: '17.6' })).toBe(undefined)
    expect(found('snapshot', { synapse: '1.170.0' })).toBe(undefined)
  })
})

type Case = readonly [what: string, mode: 'images' | 'snapshot', update: Partial<CompletedUpdate>, seen: Seen, found: readonly string[]]

const gone = (status: string) => ({ snapshot: { ...(anUpdate().snapshot as NonNullable<CompletedUpdate['snapshot']>), status } })

const cases: readonly Case[] = [
  ['a database that the former release cannot read', 'images', { from: { ...after, synapse: '1.97.0' } }, {}, ['refuse SCHEMA_TOO_NEW']],
  ['the same by snapshot', 'snapshot', { from: { ...after, synapse: '1.97.0' } }, {}, []],
  ['a database of which the table says too much', 'images', {}, { facts: { compatVersion: 95 } }, ['refuse SCHEMA_TOO_NEW']],
  ['a release that no table knows', 'images', { from: { ...after, synapse: '1.170.0' } }, {}, ['refuse SCHEMA_UNKNOWN']],
  [
    'background updates that came with the update',
    'images',
    {},
    { facts: { backgroundUpdates: ['new_index'] } },
    ['refuse BACKGROUND_UPDATES'],
  ],
  ['background updates that an older version may meet', 'images', {}, { facts: { backgroundUpdates: ['events_received_ts_index'] } }, []],
  [
    'background updates that were under way before it',
    'images',
    { backgroundBefore: ['old_index'] },
    { facts: { backgroundUpdates: ['old_index'] } },
    [],
  ],
  ['background updates of which nobody knows', 'images', {}, { facts: { backgroundUpdates: null } }, ['refuse BACKGROUND_UPDATES']],
  ['a report without facts', 'images', {}, { report: { facts: undefined } as never }, ['refuse BACKGROUND_UPDATES']],
  ['the same by snapshot', 'snapshot', {}, { facts: { backgroundUpdates: ['new_index'] } }, []],
  [
    'another major of PostgreSQL',
    'images',
    { from: { ...after, postgres: '16.4' }, digestsAfter: { ...old, postgres: 'sha256:p2' } },
    { digests: { synapse: 'sha256:s1', postgres: 'sha256:p2' } },
    ['refuse POSTGRES_MAJOR'],
  ],
  [
    'an object store beside the chat server',
    'images',
    { digestsAfter: { ...fresh, minio: 'sha256:m2' } },
    { digests: { minio: 'sha256:m2' } },
    ['warn OBJECT_STORE_STAYS'],
  ],
  [
    'nothing but an object store',
    'images',
    { digestsAfter: { ...old, minio: 'sha256:m2' } },
    { digests: { synapse: 'sha256:s1', minio: 'sha256:m2' } },
    ['refuse OBJECT_STORE_STAYS'],
  ],
  [
    'tables that moved on with it',
    'images',
    { from: { ...after, synapse: before.synapse, migrationsHead: '0000' } },
    {},
    ['warn MIGRATIONS_BACK'],
  ],
  [
    'nothing but tables',
    'images',
    { from: { ...after, migrationsHead: '0000' }, digestsAfter: old },
    { digests: old },
    ['refuse MIGRATIONS_BACK'],
  ],
  [
    'tables of which nobody knows',
    'images',
    {},
    { box: { installed: { ...after, migrationsHead: 'unknown' } } },
    ['refuse VERSION_UNKNOWN'],
  ],
  ['no evidence of what ran', 'images', { imagesBefore: {} }, {}, ['refuse NO_EVIDENCE']],
  ['an image without a tag, which no command can name', 'images', { imagesBefore: { synapse: 'synapse' } }, {}, ['refuse NO_EVIDENCE']],
  [
    'an image that was named by its digest',
    'images',
    { imagesBefore: { synapse: `r/synapse:v1.157.1@sha256:${'a'.repeat(64)}` } },
    {},
    ['refuse NO_EVIDENCE'],
  ],
  ['an image that was in no registry', 'images', { digestsBefore: { ...old, synapse: null } }, {}, ['refuse NO_EVIDENCE']],
  ['another image than it was given', 'images', {}, { digests: { synapse: 'sha256:s3' } }, ['refuse CHANGED_SINCE']],
  ['the same by snapshot', 'snapshot', {}, { digests: { synapse: 'sha256:s3' } }, ['refuse CHANGED_SINCE']],
  [
    'another service updated since, which the snapshot would revert',
    'snapshot',
    {},
    { digests: { postgres: 'sha256:p2' } },
    ['refuse CHANGED_SINCE'],
  ],
  [
    'the same with evidence of the changed services alone',
    'snapshot',
    { digestsAfter: { synapse: 'sha256:s2' } },
    { digests: { postgres: 'sha256:p2' } },
    ['refuse CHANGED_SINCE'],
  ],
  ['another edge since, which the snapshot would revert', 'snapshot', {}, { digests: { edge: 'sha256:e2' } }, ['refuse CHANGED_SINCE']],
  ['another service updated since, which stays', 'images', {}, { digests: { postgres: 'sha256:p2' } }, []],
  ['tables that moved on since', 'snapshot', {}, { box: { installed: { ...after, migrationsHead: '0002' } } }, ['refuse CHANGED_SINCE']],
  ['another box under its name', 'snapshot', { boxId: 'box_other' }, {}, ['refuse CHANGED_SINCE']],
  ['a snapshot that retention gave up', 'snapshot', gone('forgotten'), {}, ['refuse SNAPSHOT_GONE']],
  ['a snapshot that is missing', 'snapshot', gone('missing'), {}, ['refuse SNAPSHOT_GONE']],
  ['a damaged snapshot', 'snapshot', gone('damaged'), {}, ['refuse SNAPSHOT_GONE']],
  ['a snapshot that the registry does not know', 'snapshot', { snapshot: null }, {}, ['refuse SNAPSHOT_GONE']],
  ['the same by images', 'images', { snapshot: null }, {}, []],
  ['a host that is offline', 'images', {}, { box: { hostOnline: false } }, ['refuse HOST_OFFLINE']],
  ['a box that is only observed', 'snapshot', {}, { box: { managed: false } }, ['refuse NOT_MANAGED']],
  ['a box that others hold', 'images', {}, { box: { heldBy: 'move:1' } }, ['warn BOX_HELD']],
  ['a fence that nobody holds', 'snapshot', {}, { report: { fenced: true } }, ['refuse BOX_FENCED']],
  ['a report of last week', 'images', {}, { box: { reportedAt: '2025-12-29T00:00:00.000Z' } }, ['refuse STALE_REPORT']],
]

test.each(cases)('%s (%s)', (_, mode, update, seen, found) => {
  expect(codes(mode, anUpdate(update), aBox(seen))).toEqual(found)
})

test('an older release may refuse the positions that apps hold, which is told; one of the same minor does not', () => {
  const told = (from: string) =>
    planBoxRollback({ mode: 'snapshot', update: anUpdate({ from: { ...after, synapse: from } }), box: aBox() }, limits).findings.map(
      ({ severity, code }) => [severity, code],
    )
  expect(told('1.157.1')).toEqual([['warn', 'SYNC_POSITIONS']])
  expect(told('1.163.1')).toEqual([])
})

test('a box that does not prove healthy may go back: it may be why somebody wants it back', () => {
  const sick = { verdict: 'failed', at: limits.now, components: {} } as never
  expect(codes('images', anUpdate(), aBox({ box: { probe: sick } }))).toEqual([])
})

test('a service that is down keeps a box from going back by images, not by snapshot', () => {
  const services = aBox().report?.services
  const down = { ...services, minio: { image: 'r/minio', digest: 'sha256:m1', state: 'exited', restartCount: 3 } } as never
  expect(codes('images', anUpdate(), aBox({ report: { services: down } }))).toEqual(['refuse BOX_UNHEALTHY'])
  expect(codes('snapshot', anUpdate(), aBox({ report: { services: down } }))).toEqual([])
})

describe('whatever was updated in whatever order', () => {
  const updates = fc.uniqueArray(fc.record({ n: fc.nat(30), minute: fc.nat(9), refused: fc.boolean() }), {
    selector: ({ n }) => n,
    maxLength: 20,
  })

  test('the last goes first, every box has its line, and what is refused is counted and changes no other', () => {
    fc.assert(
      fc.property(updates, fc.constantFrom('images' as const, 'snapshot' as const), (all, mode) => {
        const made = all.map(({ n, minute, refused }) => {
          const slug = `box-${n}`
          const update = anUpdate({ slug, boxId: `box_${slug}`, finishedAt: `2026-01-05T02:0${minute}:00.000Z` })
          return { update, box: { ...aBox(refused ? { box: { hostOnline: false } } : {}), slug, boxId: `box_${slug}` }, refused }
        })
        const boxes = new Map(made.map(({ box }) => [box.slug, box]))
        const plan = planRollback({ rolloutId: 'ro', mode, updates: made.map(({ update }) => update), boxes, ...limits })
        expect(plan.boxes).toHaveLength(made.length)
        expect(plan.refusals).toBe(made.filter(({ refused }) => refused).length)
        expect(plan.rollbacks).toBe(made.length - plan.refusals)
        const times = plan.boxes.map(({ tenantSlug }) => made.find(({ box }) => box.slug === tenantSlug)?.update.finishedAt ?? '')
        expect(times).toEqual(times.toSorted().reverse())
        for (const { findings, does } of plan.boxes) expect(does === 'refuse').toBe(findings.some(({ severity }) => severity === 'refuse'))
      }),
    )
  })

  test('by images nothing is ever pulled but what ran before, and never an object store', () => {
    fc.assert(
      fc.property(fc.subarray(['synapse', 'postgres', 'minio'] as const), (changed) => {
        const digestsAfter = { ...old, ...Object.fromEntries(changed.map((service) => [service, `sha256:${service}-new`])) }
        const { images: back } = planBoxRollback(
          { mode: 'images', update: anUpdate({ digestsAfter }), box: aBox({ digests: digestsAfter }) },
          limits,
        )
        expect(Object.keys(back).sort()).toEqual(changed.filter((service) => service !== 'minio').toSorted())
        for (const [service, { digest }] of Object.entries(back)) expect(digest).toBe(old[service as keyof typeof old])
      }),
    )
  })
})

test.each(['images', 'snapshot'] as const)(
  'a box that runs the versions from before the update already is skipped and blocks no other (%s)',
  (mode) => {
    const boxes = new Map([['acme', aBox({ digests: { synapse: old.synapse } })]])
    const plan = planRollback({ rolloutId: 'ro_1', mode, updates: [anUpdate()], boxes, ...limits })
    expect(plan).toMatchObject({ rollbacks: 0, refusals: 0, boxes: [{ does: 'skip', losesSince: null, losesMs: 0, findings: [] }] })
    const rebuilt = planRollback({
      rolloutId: 'ro_1',
      mode,
      updates: [anUpdate()],
      boxes: new Map([['acme', { ...(boxes.get('acme') as KnownBox), boxId: 'box_2' }]]),
      ...limits,
    })
    expect(rebuilt).toMatchObject({ refusals: 0, boxes: [{ does: 'skip' }] })
    const elsewhere = aBox({ digests: { synapse: old.synapse }, box: { installed: { ...after, migrationsHead: '0002' } } })
    const [other] = planRollback({ rolloutId: 'ro_1', mode, updates: [anUpdate()], boxes: new Map([['acme', elsewhere]]), ...limits }).boxes
    expect(other?.does, 'a snapshot would revert its tables too').toBe(mode === 'images' ? 'skip' : 'refuse')
  },
)
