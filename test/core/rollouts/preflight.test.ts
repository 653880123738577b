import { describe, expect, test } from 'vitest'
import type { BoxFacts, InstalledVersions, VersionsReport } from '../../../src/core/boxes/index.ts'
import { FindingCode, type KnownBox, preflightBox, preflightRetry } from '../../../src/core/rollouts/index.ts'
import { aManifest, aProbe, aReport } from '../../support/boxes.ts'
import { aKnownBox } from '../../support/rollouts.ts'
import { synapseSchemas } from '../../support/synapse-schemas.ts'

const limits = { now: '2026-01-05T02:10:00.000Z', staleAfterMs: 26 * 3_600_000, schemas: synapseSchemas }
const target = aManifest({ synapse: '1.163.2' }).tiers.free
const look = (changes: Partial<KnownBox>, to = target) => preflightBox(aKnownBox('acme', changes), to, limits)
const withVersions = (changes: Partial<InstalledVersions>) => ({ installed: { ...aReport('acme').installed, ...changes } })
const codes = (box: Partial<KnownBox>, to = target) => look(box, to).findings.map(({ severity, code }) => `${severity} ${code}`)

const wellFacts: BoxFacts = {
  schemaVersion: 94,
  compatVersion: 84,
  backgroundUpdates: [],
  collation: 'C',
  libc: 'glibc',
  mediaBytes: 1e9,
  objectBytes: 1e9,
  freeDiskBytes: 50e9,
  otherServices: [],
  wouldRecreate: [],
  composeChanged: false,
  notRestorable: [],
  scaledServices: [],
}
const withFacts = (facts: Partial<BoxFacts>, report: Partial<VersionsReport> = {}) => ({
  report: aReport('acme', { facts: { ...wellFacts, ...facts }, ...report }),
})
const withStates = (services: Record<string, string>) => ({
  report: aReport('acme', {
    services: Object.fromEntries(
      Object.entries(services).map(([name, state]) => [name, { image: 'x', digest: null, state, restartCount: 0 }]),
    ) as never,
  }),
})
const aBadProbe = {
  ...aProbe(),
  verdict: 'failed' as const,
  components: { ...aProbe().components, objectStorage: { ok: false, ms: 5, error: 'the upload was answered 503' } },
  reason: 'the upload was answered 503',
}

test('a healthy box behind its target is updated, and only what differs changes', () => {
  expect(look({})).toEqual({ does: 'update', changes: ['synapse'], findings: [] })
  expect(look({ ...withFacts({}), probe: aProbe() })).toEqual({ does: 'update', changes: ['synapse'], findings: [] })
})

test('a box that runs its target is skipped, whatever else may be said of it', () => {
  expect(look({ ...withVersions({ synapse: '1.163.2' }), managed: false, probe: aBadProbe }).does).toBe('skip')
})

type Case = [what: string, finding: string, box: Partial<KnownBox>, says: RegExp, to?: Partial<typeof target>]

const cases: Case[] = [
  ['a silent host', 'refuse HOST_OFFLINE', { hostOnline: false }, /the host host-of-acme of acme is offline. fix: start its agent/],
  [
    'a host whose clock is ahead',
    'refuse CLOCK_SKEW',
    { clockOffsetMs: 90_000 },
    /the clock of host-of-acme is 1 min 30 s ahead. fix: set it/,
  ],
  ['a host whose clock is behind', 'refuse CLOCK_SKEW', { clockOffsetMs: -31_000 }, /31 s behind/],
  ['an agent of another protocol', 'refuse AGENT_TOO_OLD', { protocolVersion: 0 }, /speaks protocol 0.*upgrade tenantry-agent/],
  ['a box that is only observed', 'refuse NOT_MANAGED', { managed: false }, /only observed.*boxes import/],
  ['a box in the files of its former owner', 'warn IN_PLACE', { inPlace: true }, /former owner.*boxes import/],
  ['no report', 'refuse NO_REPORT', { reportedAt: null, report: null }, /boxes scan/],
  ['an old report', 'refuse STALE_REPORT', { reportedAt: '2026-01-03T20:00:00.000Z' }, /30 h 10 min old/],
  [
    'a box in other hands',
    'warn BOX_HELD',
    { heldBy: 'rollout:ro_x', report: aReport('acme', { fenced: true }) },
    /on hold for rollout:ro_x/,
  ],
  [
    'a fence that nobody answers for',
    'refuse BOX_FENCED',
    { report: aReport('acme', { fenced: true }) },
    /fenced although nothing holds it/,
  ],
  [
    'a fence with a name on it',
    'refuse BOX_FENCED',
    { report: aReport('acme', { fenced: true, fence: { holder: 'maintenance: new disk', since: null } }) },
    /fenced by maintenance: new disk although nothing/,
  ],
  ['a service that does not run', 'refuse BOX_UNHEALTHY', withStates({ synapse: 'running', minio: 'exited' }), /minio is exited/],
  [
    'a last probe that was bad',
    'refuse BOX_UNHEALTHY',
    { probe: aBadProbe },
    /objectStorage, the upload was answered 503.*boxes check acme/,
  ],
  ['an unknown version', 'refuse VERSION_UNKNOWN', withVersions({ synapse: 'unknown' }), /version of synapse in acme is unknown/],
  ['an unknown migrations head', 'refuse VERSION_UNKNOWN', withVersions({ migrationsHead: 'unknown' }), /migrationsHead/],
  ['an older Synapse', 'refuse DOWNGRADE', withVersions({ synapse: '1.164.0' }), /1.164.0 → 1.163.2 is a downgrade/],
  [
    'a pair of object stores that was never rolled back',
    'warn OBJECT_STORE_UNKNOWN',
    withVersions({ minio: 'RELEASE.2025-01-01T00-00-00Z' }),
    /whether RELEASE.2025-01-01T00-00-00Z of acme could read its objects again after a rollback/,
  ],
  ['an older object store', 'refuse DOWNGRADE', withVersions({ minio: 'RELEASE.2025-10-01T00-00-00Z' }), /is a downgrade/],
  ['an older PostgreSQL', 'refuse DOWNGRADE', withVersions({ postgres: '17.7' }), /is a downgrade/],
  [
    'migrations that would go back',
    'refuse MIGRATIONS_BACK',
    withVersions({ migrationsHead: '0003' }),
    /at migrations head 0003, but the target is 0000/,
  ],
  [
    'a PostgreSQL major by its tag',
    'refuse POSTGRES_MAJOR',
    withVersions({ postgres: '16.9' }),
    /PostgreSQL 16\.9 → 17\.6 of acme is another major version, and the agent of host-of-acme does not upgrade/,
  ],
  [
    'a PostgreSQL that the new Synapse does not run on',
    'refuse POSTGRES_TOO_OLD',
    withVersions({ postgres: '13.9' }),
    /Synapse 1.163.2 needs PostgreSQL 14 or newer, but 13.9 would run/,
    { postgres: '13.9' },
  ],
  [
    'a collation that hangs on the C library',
    'warn COLLATION',
    { ...withVersions({ postgres: '17.5' }), ...withFacts({ collation: 'de_DE.utf8' }) },
    /the collation de_DE.utf8: the image of PostgreSQL 17.6 must have the same C library/,
  ],
  [
    'a Synapse that cannot read the database, as the database says',
    'refuse SCHEMA_TOO_NEW',
    withFacts({ compatVersion: 84 }),
    /needs schema 84 or newer, but Synapse 1.97.0 knows schemas up to 83 and would not start. fix: use 1.100.0 or newer/,
    { synapse: '1.97.0' },
  ],
  ['the same, as the running version tells', 'refuse SCHEMA_TOO_NEW', {}, /needs schema 84 or newer/, { synapse: '1.97.0' }],
  [
    'a Synapse that nobody knows yet',
    'warn SCHEMA_UNKNOWN',
    {},
    /1.170.0 is not in the compatibility table \(newest: 1.163.2\)/,
    { synapse: '1.170.0' },
  ],
  [
    'background updates under way',
    'warn BACKGROUND_UPDATES',
    withFacts({ backgroundUpdates: ['a', 'b', 'c', 'd'] }),
    /4 background updates of the chat server in acme are pending \(a, b, c, …\)/,
  ],
  [
    'background updates that the new Synapse counts on',
    'refuse BACKGROUND_UPDATES',
    { ...withVersions({ synapse: '1.97.0' }), ...withFacts({ backgroundUpdates: ['a'], compatVersion: 80 }) },
    /1 background update .* is pending \(a\), and Synapse 1.163.2 requires them to be done/,
  ],
  ['too little space', 'refuse NO_SPACE', { databaseBytes: 30e9, ...withFacts({}) }, /needs about 60.9 GB free .*, but 50.0 GB are free/],
  ['a compose file changed by hand', 'warn COMPOSE_CHANGED', withFacts({ composeChanged: true }), /its containers match the file/],
  [
    'containers of another compose version',
    'warn COMPOSE_UPGRADED',
    withFacts({ otherCompose: ['synapse'] }),
    /no longer proves that synapse matches the compose file; images, mounts, networks, variables and commands do$/,
  ],
  [
    'containers of another compose version under a file changed by hand',
    'warn COMPOSE_UPGRADED',
    withFacts({ composeChanged: true, otherCompose: ['minio', 'synapse'] }),
    /minio, synapse match the compose file.*changed by hand since its agent wrote it. fix: check the change/,
  ],
  [
    'a network that an upgraded compose would recreate',
    'warn COMPOSE_UPGRADED',
    withFacts({ otherNetworks: ['box-oak_default'] }),
    /may recreate its network box-oak_default: all its containers stop for that, the edge too. fix: run `docker compose up -d`/,
  ],
  [
    'a change by hand to what is updated, which the update would apply or drop',
    'refuse WOULD_RECREATE',
    withFacts({ composeChanged: true, wouldRecreate: ['synapse'], differences: ['synapse mounts volume b at /media. fix: write it'] }),
    /is not what compose would bring up \(synapse\); its compose file was changed by hand: synapse mounts volume b at .media\. fix: write it/,
  ],
  [
    'a service that compose would recreate beside the plan',
    'refuse WOULD_RECREATE',
    withFacts({ composeChanged: true, wouldRecreate: ['minio', 'synapse'] }),
    /\(minio, synapse\); its compose file was changed by hand. fix: revert the file/,
  ],
  [
    'a service with two containers',
    'refuse SCALED_SERVICE',
    withFacts({ scaledServices: ['minio'] }),
    /minio of acme has more than one container.*--scale minio=1/,
  ],
  [
    'a volume that a restore cannot replace',
    'refuse NOT_RESTORABLE',
    withFacts({ notRestorable: ['the volume db is external'] }),
    /acme could not be restored after an update: the volume db is external/,
  ],
  [
    'additions that the box template decides',
    'refuse EXTRA_COMPOSE',
    withFacts({ extra: ['compose.extra.yaml: image of synapse belongs to the box template. fix: remove it'] }),
    /acme: compose\.extra\.yaml: image of synapse/,
  ],
  ['services of another make', 'warn OTHER_SERVICES', withFacts({ otherServices: ['bridge'] }), /1 service unknown to Tenantry \(bridge\)/],
]

/** What no look at a box alone can find: it takes a plan, a window, or a way back. */
const foundElsewhere = [
  'IMAGE_NOT_FOUND',
  'DIGEST_DISPUTED',
  'DIGEST_UNCONFIRMED',
  'LONG_FENCE',
  'WINDOW_TOO_SHORT',
  'AHEAD_OF_PLAN',
  'OTHER_IMAGE',
  'ROLLED_BACK',
  'NO_EVIDENCE',
  'CHANGED_SINCE',
  'REINTRODUCES_CVE',
  'SNAPSHOT_GONE',
  'OBJECT_STORE_STAYS',
  'SYNC_POSITIONS',
]

describe('found', () => {
  test.each(cases)('%s: %s', (_, finding, box, says, to = {}) => {
    const found = look(box, { ...target, ...to })
    const [severity, code] = finding.split(' ')
    const one = found.findings.find((candidate) => candidate.code === code)
    expect(one).toMatchObject({ severity, message: expect.stringMatching(says) })
    if (severity === 'refuse') expect(found.does).toBe('refuse')
    else expect(found.findings.filter((other) => other.severity === 'refuse')).toEqual([])
  })

  test('each code that there is, and none twice about one thing', () => {
    const seen = new Set(cases.map(([, finding]) => finding.split(' ')[1]))
    expect(FindingCode.options.filter((code) => !seen.has(code))).toEqual(foundElsewhere)
    for (const [, , box, , to = {}] of cases) {
      const all = codes(box, { ...target, ...to })
      expect(new Set(all).size).toBe(all.length)
    }
  })
})

test('a release candidate is older than its release', () => {
  expect(look(withVersions({ synapse: '1.163.2rc1' })).does).toBe('update')
  expect(codes(withVersions({ synapse: '1.163.2' }), { ...target, synapse: '1.163.2rc1' })).toEqual(['refuse DOWNGRADE'])
})

test('a held box is only warned of: its turn may come when it is free', () => {
  expect(look({ heldBy: 'rollout:ro_other', report: aReport('acme', { fenced: true }) }).does).toBe('update')
  expect(codes({ heldBy: 'rollout:ro_other' })).toEqual(['warn BOX_HELD'])
})

test('a later migrations head is an update like any other', () => {
  const found = look(withVersions({ synapse: '1.163.2' }), { ...target, migrationsHead: '0002' })
  expect(found).toEqual({ does: 'update', changes: ['migrationsHead'], findings: [] })
})

test('what Synapse needs is asked only where Synapse changes', () => {
  const box = { ...withVersions({ synapse: '1.163.2', postgres: '17.5' }), ...withFacts({ backgroundUpdates: ['a'] }) }
  expect(look(box)).toEqual({ does: 'update', changes: ['postgres'], findings: [] })
})

test('what an agent could not find out is not held against its box', () => {
  const nothing = Object.fromEntries(Object.keys(wellFacts).map((key) => [key, null])) as BoxFacts
  expect(look(withFacts(nothing)).findings).toEqual([])
})

describe('a box that is tried again', () => {
  const image = 'registry.example/synapse:v1.163.2'
  const running = (digest: string | null, services = {}) => ({
    report: aReport('acme', { services: { synapse: { image, digest, state: 'running', restartCount: 0 }, ...services } as never }),
  })
  type Earlier = NonNullable<Parameters<typeof preflightRetry>[2]['earlier']>
  const again = (box: Partial<KnownBox>, pinned: Earlier['pinned'], to = target, before: Earlier['before'] = {}) =>
    preflightRetry(aKnownBox('acme', box), to, { ...limits, earlier: { pinned, before } })
  const atTarget = withVersions({ synapse: '1.163.2' })

  test.each([
    ['the planned image', 'sha256:a', { [image]: 'sha256:a' }, 'skip'],
    ['another image under its tag', 'sha256:b', { [image]: 'sha256:a' }, 'refuse'],
    ['an image whose digest its agent could not say', null, { [image]: 'sha256:a' }, 'skip'],
    ['an image that this rollout never pinned', 'sha256:b', {}, 'skip'],
  ] as const)('at its target with %s', (_, digest, pinned, does) => {
    const found = again({ ...atTarget, ...running(digest) }, pinned)
    expect(found.does).toBe(does)
    expect(found.findings.map(({ code }) => code)).toEqual(does === 'refuse' ? ['OTHER_IMAGE'] : [])
  })

  test.each([
    ['ran under that tag all along', image, 'sha256:b', 'skip'],
    ['ran under another tag', 'registry.example/synapse:v1.157.1', 'sha256:b', 'refuse'],
    ['was yet another', image, 'sha256:c', 'refuse'],
  ] as const)('at its target with another image than the tag has by now, that %s before this rollout', (_, former, digest, does) => {
    const before = { synapse: { image: former, digest } }
    expect(again({ ...atTarget, ...running('sha256:b') }, { [image]: 'sha256:a' }, target, before).does).toBe(does)
  })

  test('is held to no image where no attempt came as far as to change it', () => {
    const box = aKnownBox('acme', { ...withVersions({ synapse: '1.163.2', postgres: '17.5' }), ...running('sha256:b') })
    expect(preflightRetry(box, target, { ...limits, earlier: null })).toMatchObject({ does: 'update', findings: [] })
  })

  test('is not held to images that are to change, but to those that are not', () => {
    const to = { ...target, synapse: '1.164.0' }
    expect(again({ ...atTarget, ...running('sha256:b') }, { [image]: 'sha256:a' }, to)).toMatchObject({
      does: 'update',
      changes: ['synapse'],
    })
    const older = withVersions({ synapse: '1.163.2', postgres: '17.5' })
    expect(again({ ...older, ...running('sha256:b') }, { [image]: 'sha256:a' })).toMatchObject({ does: 'refuse', changes: ['postgres'] })
  })

  test('is passed over at its target only once it is well', () => {
    expect(again({ ...atTarget, probe: aBadProbe }, {})).toMatchObject({ does: 'refuse', findings: [{ code: 'BOX_UNHEALTHY' }] })
  })
})
