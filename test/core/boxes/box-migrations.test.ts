import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  assertKnownHeads,
  assertValidMigrations,
  type BoxMigration,
  headOf,
  planMigrations,
  readBoxMigrations,
} from '../../../src/core/boxes/index.ts'
import { aManifest } from '../../support/boxes.ts'

const folder = join(import.meta.dirname, '../../../config/box-migrations')
const fileOf = (head: number, text = `create table t${head} (id integer);`) => ({
  file: `${String(head).padStart(4, '0')}-a-table.sql`,
  text,
})
const upTo = (last: number) => readBoxMigrations(Array.from({ length: last }, (_, at) => fileOf(at + 1)))
const appliedOf = (migrations: readonly BoxMigration[]) => migrations.map(({ head, sha256 }) => ({ head, sha256 }))
const heads = (migrations: readonly BoxMigration[]) => migrations.map(({ head }) => head)
const plan = (known: readonly BoxMigration[], applied: readonly { head: string; sha256: string }[], wanted: string) => {
  const planned = planMigrations(known, applied, wanted)
  return 'problem' in planned ? planned.problem : heads(planned.toApply)
}

test('the shipped files are valid, and their texts are frozen', () => {
  const shipped = readBoxMigrations(readdirSync(folder).map((file) => ({ file, text: readFileSync(join(folder, file), 'utf8') })))
  expect(Object.fromEntries(shipped.map(({ head, name, sha256 }) => [`${head}-${name}`, sha256.slice(0, 12)]))).toMatchInlineSnapshot(`
    {
      "0001-marks": "ac72e8774683",
      "0002-outbound-deliveries": "b6473329928d",
    }
  `)
  expect(() => assertValidMigrations(shipped)).not.toThrow()
})

describe('a folder', () => {
  test('is read in the order of its heads, whatever the order of its files', () => {
    expect(heads(readBoxMigrations([fileOf(2), fileOf(1), fileOf(3)]))).toEqual(['0001', '0002', '0003'])
    expect(readBoxMigrations([])).toEqual([])
  })

  test.each([
    ['a gap', [fileOf(1), fileOf(3)], /0003-a-table.sql is out of sequence: expected 0002/],
    ['no first', [fileOf(2)], /is out of sequence: expected 0001/],
    ['a double', [fileOf(1), { ...fileOf(1), file: '0001-another.sql' }], /is out of sequence: expected 0002/],
    ['an invalid name', [{ file: 'README.md', text: 'x' }], /README.md must be named/],
    ['nothing in a file', [fileOf(1, '-- only a remark\n')], /is empty/],
    ['a command of psql', [fileOf(1, '\\! touch /tmp/x')], /contains a backslash/],
    ['a transaction of its own', [fileOf(1, 'create table a (b int); COMMIT ; create table c (d int);')], /begins or ends a transaction/],
    ['a start of one', [fileOf(1, 'start transaction;')], /begins or ends a transaction/],
    ['a drop', [fileOf(1, 'drop table a;')], /contains drop; box migrations may only add/],
    ['a delete', [fileOf(1, 'delete  from a;')], /may only add/],
  ])('with %s is refused', (_, files, message) => {
    expect(() => readBoxMigrations(files)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) }),
    )
  })
})

describe('migrations from a daemon', () => {
  const [first, second] = upTo(2) as [BoxMigration, BoxMigration]
  test.each<[string, BoxMigration[], RegExp]>([
    ['text that does not match its checksum', [{ ...first, sql: 'create table other (id integer);' }], /does not match its checksum/],
    ['another order', [second, first], /is out of order/],
  ])('with %s is not run', (_, sent, message) => {
    expect(() => assertValidMigrations(sent)).toThrow(message)
  })
})

describe('the plan', () => {
  const known = upTo(3)
  test.each<[string, number, string, string[]]>([
    ['from nothing to the last', 0, '0003', ['0001', '0002', '0003']],
    ['from the first to the second', 1, '0002', ['0002']],
    ['nothing where the box is there already', 2, '0002', []],
    ['nothing where nothing is wanted', 0, '0000', []],
  ])('%s', (_, applied, wanted, toApply) => {
    expect(plan(known, appliedOf(known.slice(0, applied)), wanted)).toEqual(toApply)
  })

  test.each<[string, { head: string; sha256: string }[], string, RegExp]>([
    ['an older head', appliedOf(known), '0002', /at migrations head 0003, and 0002 is older/],
    ['a head without a file', [], '0004', /box migration 0004 does not exist \(newest: 0003\)/],
    ['a text that was changed since', [{ head: '0001', sha256: 'f'.repeat(64) }], '0002', /was applied with other SQL/],
    [
      'a head from a newer daemon',
      [...appliedOf(known), { head: '0004', sha256: 'a'.repeat(64) }],
      '0003',
      /0004, which this daemon does not know/,
    ],
    ['a gap in the box', appliedOf([known[1]!]), '0003', /has migration 0002 where 0001 is expected/],
  ])('refuses %s', (_, applied, wanted, message) => {
    expect(plan(known, applied, wanted)).toMatch(message)
  })

  test('applied one by one and interrupted anywhere, it ends at the wanted head and applies nothing twice', () => {
    const last = 9
    const all = upTo(last)
    const numbers = fc.integer({ min: 0, max: last })
    fc.assert(
      fc.property(numbers, numbers, numbers, (begun, wanted, brokenOff) => {
        fc.pre(begun <= wanted)
        const head = String(wanted).padStart(4, '0')
        const before = all.slice(0, begun)
        const first = planMigrations(all, appliedOf(before), head)
        const done = [...before, ...('toApply' in first ? first.toApply.slice(0, brokenOff) : [])]
        const second = planMigrations(all, appliedOf(done), head)
        const end = [...done, ...('toApply' in second ? second.toApply : [])]
        expect(heads(end)).toEqual(heads(all.slice(0, wanted)))
        expect(headOf(end)).toBe(head)
      }),
    )
  })
})

test('a manifest may name only existing heads', () => {
  expect(() => assertKnownHeads(aManifest(), [])).not.toThrow()
  expect(() => assertKnownHeads(aManifest({ migrationsHead: '0002' }), upTo(2))).not.toThrow()
  expect(() => assertKnownHeads(aManifest({ migrationsHead: '0003' }), upTo(2))).toThrow(
    expect.objectContaining({
      code: 'MANIFEST_INVALID',
      message: expect.stringContaining('tiers.free.migrationsHead is 0003, but the newest box migration is 0002'),
    }),
  )
})
