import { expect, test } from 'vitest'
import {
  contentFindings,
  type DatabaseContent,
  dataMajorFinding,
  expectedDowntimeMs,
  formerFindings,
  targetFindings,
  type UpgradeFacts,
  UpgradeImage,
  type UpgradeTarget,
  upgradeImage,
} from '../../../src/core/boxes/index.ts'

const hotCopy = {
  ...{ major: 15, walLevel: 'replica', freeSlots: 10, fullPageWrites: true, isStandby: false, isSuperuser: true },
  ...{ checksumFailures: 0, tablespaces: 0 },
}
const facts = (change: Partial<UpgradeFacts> = {}): UpgradeFacts => ({
  ...{ major: 15, version: '15.18', bytes: 1_000, superuser: 'postgres', invalidIndexes: [], extensions: ['plpgsql'] },
  ...{ collations: [{ provider: 'c', locale: 'C', version: null }], largeObjects: 0, preparedTransactions: 0, logicalSlots: [] },
  ...{ roleSettings: [], otherDatabases: [] },
  ...change,
})
const target = (change: Partial<UpgradeTarget> = {}): UpgradeTarget => ({
  ...{ major: 17, version: '17.6', extensions: ['plpgsql', 'pg_trgm'] },
  collations: [
    { provider: 'c', locale: 'en_US.utf8', version: '2.41' },
    { provider: 'i', locale: 'de', version: '153.128' },
  ],
  ...change,
})
const about = (change: Partial<UpgradeFacts>, known: Partial<typeof hotCopy> = {}, freeDiskBytes = 1e9, alteredSettings: string[] = []) =>
  formerFindings('linden', facts(change), { hotCopy: { ...hotCopy, ...known }, freeDiskBytes, alteredSettings }).map(
    ({ code, message }) => {
      expect(message).toMatch(/ fix: /)
      return `${code}: ${message}`
    },
  )

test('settings that a load would lose are named', () => {
  expect(about({}, {}, 1e9, ['work_mem'])).toEqual([expect.stringMatching(/^SERVER_SETTINGS: .*work_mem/)])
})

test('a plain database has no findings', () => {
  expect(about({})).toEqual([])
  expect(targetFindings('linden', facts(), target())).toEqual([])
})

test.each([
  [{ invalidIndexes: ['public.a_key'] }, /^INVALID_INDEXES: .*public\.a_key/],
  [{ largeObjects: 2 }, /^LARGE_OBJECTS: .*2 large objects/],
  [{ preparedTransactions: 1 }, /^PREPARED_TRANSACTIONS: .*1 prepared transaction,/],
  [{ logicalSlots: ['debezium'] }, /^LOGICAL_SLOTS: .*debezium/],
  [{ roleSettings: ['synapse: work_mem'] }, /^ROLE_SETTINGS: .*work_mem/],
  [{ otherDatabases: ['bridge'] }, /^OTHER_DATABASES: .*bridge/],
] as const)('refuses %j', (change, expected) => {
  const found = about(change as Partial<UpgradeFacts>)
  expect(found).toHaveLength(1)
  expect(found[0]).toMatch(expected)
})

test('what cannot be copied while it serves is refused before', () => {
  expect(about({}, { walLevel: 'minimal' })[0]).toMatch(/^NO_HOT_COPY: .*wal_level/)
  expect(about({}, { major: 14 })[0]).toMatch(/^NO_HOT_COPY: /)
  expect(about({ bytes: 1e9 }, {}, 1e9)[0]).toMatch(/^NO_HOT_COPY: .*room/)
})

test('long lists are cut', () => {
  const names = Array.from({ length: 500 }, (_, n) => `public.index_${n}_of_a_rather_long_name`)
  expect(about({ invalidIndexes: names })[0]).toMatch(/index_9_of_a_rather_long_name and 490 more\. fix: /)
})

const against = (change: Partial<UpgradeFacts>, next: Partial<UpgradeTarget> = {}) =>
  targetFindings('linden', facts(change), target(next)).map(({ severity, code }) => `${severity} ${code}`)
const sorted = (provider: string, locale: string, version: string | null) => ({ collations: [{ provider, locale, version }] })

test.each([
  ['the same major', {}, { major: 15, version: '15.20' }, ['refuse NOT_NEWER']],
  ['an older major', {}, { major: 14 }, ['refuse NOT_NEWER']],
  ['a foreign extension', { extensions: ['plpgsql', 'postgis'] }, {}, ['refuse EXTENSION_MISSING']],
  ['an extension of both', { extensions: ['plpgsql', 'pg_trgm'] }, {}, []],
  ['a locale that the image lacks', sorted('c', 'tr_TR.UTF-8', '2.36'), {}, ['refuse COLLATION_UNKNOWN']],
  ['the same locale of another C library', sorted('c', 'en_US.UTF-8', '2.36'), {}, ['warn COLLATION_VERSION']],
  ['the same locale of the same C library', sorted('c', 'en_US.UTF-8', '2.41'), {}, []],
  ['C in other letters', sorted('c', 'C.UTF-8', null), {}, []],
  ['another ICU', sorted('i', 'de', '153.120'), {}, ['warn COLLATION_VERSION']],
  ['another ICU for a locale of its own', sorted('i', 'de-u-kn-true', '153.120'), {}, ['warn COLLATION_VERSION']],
  ['a built-in locale before 17', sorted('b', 'C.UTF8', '1'), { major: 16 }, []],
  ['another built-in locale before 17', sorted('b', 'PG_UNICODE_FAST', '1'), { major: 16 }, ['refuse COLLATION_UNKNOWN']],
] as const)('%s', (_, change, next, expected) => {
  expect(against(change as Partial<UpgradeFacts>, next)).toEqual(expected)
})

const content = (change: Partial<DatabaseContent> = {}): DatabaseContent => ({
  ...{ bytes: 1, rows: { 'public.events': 3, 'public.empty': 0 }, sequences: { 'public.s': '9007199254740993', 'public.new': null } },
  ...{ indexes: ['public.i'], constraints: ['c on events'], extensions: ['plpgsql'], roles: ['postgres'] },
  properties: { encoding: 'UTF8', collate: 'C', ctype: 'C' },
  ...change,
})

test('equal contents have no finding, and an empty database proves nothing', () => {
  expect(contentFindings('linden', content(), content({ bytes: 2 }))).toEqual([])
  const empty = content({ rows: { 'public.events': 0 } })
  expect(contentFindings('linden', empty, empty)[0]?.message).toMatch(/nothing was compared/)
})

test.each([
  [{ rows: { 'public.events': 2, 'public.empty': 0 } }, /rows of public\.events: 2 instead of 3/],
  [{ rows: { 'public.events': 3 } }, /rows of public\.empty: none instead of 0/],
  [{ rows: { 'public.events': 3, 'public.empty': 0, 'public.more': 1 } }, /rows of public\.more: 1 instead of none/],
  [
    { sequences: { 'public.s': '9007199254740992', 'public.new': null } },
    /sequence public\.s: 9007199254740992 instead of 9007199254740993/,
  ],
  [{ indexes: [] }, /index public\.i is missing/],
  [{ constraints: [] }, /constraint c on events is missing/],
  [{ extensions: ['plpgsql', 'x'] }, /extension x is new/],
  [{ roles: [] }, /role postgres is missing/],
  [{ properties: { encoding: 'UTF8', collate: 'C', ctype: 'en_US' } }, /property ctype: en_US instead of C/],
] as const)('a loaded database with %j differs', (change, expected) => {
  const [finding] = contentFindings('linden', content(), content(change as Partial<DatabaseContent>))
  expect(finding).toMatchObject({ severity: 'refuse', code: 'CONTENT_DIFFERS', message: expect.stringMatching(expected) })
})

test('the downtime is that of all parts, or unknown', () => {
  const times = { copyMs: 100, recoverMs: 10, dumpMs: 1, loadMs: 2, analyzeMs: 3, compareMs: 4 }
  expect(expectedDowntimeMs(times)).toBe(10)
  expect(expectedDowntimeMs({ ...times, loadMs: undefined })).toBeUndefined()
})

test('a major version is a tag of the present repository', () => {
  const present = '127.0.0.1:5055/tenantry/postgres:15.18'
  expect(upgradeImage('17', present)).toBe('127.0.0.1:5055/tenantry/postgres:17')
  expect(upgradeImage('registry.example/postgres:18.1', present)).toBe('registry.example/postgres:18.1')
  for (const wrong of ['', 'postgres', '17 ', '$(id):1', '017', '7']) expect(UpgradeImage.safeParse(wrong).success).toBe(false)
})

test('files of another major are named', () => {
  expect(dataMajorFinding('linden', { files: '15', image: 'postgres:17' }).message).toMatch(
    /is of PostgreSQL 15, and its image is postgres:17\. fix: /,
  )
})
