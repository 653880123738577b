import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { canObjectStoreReturn, parseSynapseSchemas, synapseSchemaOf } from '../../../src/core/boxes/index.ts'

const shipped = parseSynapseSchemas(parse(readFileSync(join(import.meta.dirname, '../../../config/synapse-schema.yaml'), 'utf8')))

describe('the shipped table', () => {
  test.each([
    ['1.97.0', 83, 80, 11],
    ['1.105.0', 84, 83, 11],
    ['1.105.1', 84, 84, 11],
    ['1.157.1', 94, 84, 14],
    ['1.163.2', 94, 84, 14],
    ['1.163.2rc1', 94, 84, 14],
  ])('has what %s writes and requires', (version, schema, compat, postgres) => {
    expect(synapseSchemaOf(shipped, version)).toMatchObject({ schema, compat, postgres })
  })

  test('has no entry for older, newer or unreadable versions', () => {
    for (const version of ['1.79.0', '1.164.0', '2.0.0', 'develop']) expect(synapseSchemaOf(shipped, version)).toBeUndefined()
  })

  test('has the oldest compatible version for each row', () => {
    for (const { compat, oldestThatStarts } of shipped.versions)
      expect(shipped.versions.find(({ schema }) => schema >= compat)?.from).toBe(oldestThatStarts)
  })

  // From the schema deltas 94/08 to 94/10: a box updated between these versions opens although they are pending.
  test('knows all background updates that 1.163.2 adds to a database of 1.157.1', () => {
    expect(shipped.harmlessUpdates).toEqual(
      expect.arrayContaining([
        'device_lists_changes_in_room_unconverted_idx',
        'e2e_cross_signing_signatures_remove_duplicates',
        'e2e_cross_signing_signatures_add_key_id_to_index',
      ]),
    )
  })

  test('lists no background update that rewrites rows, or adds a unique index that an older version may violate', () => {
    const rewriting = ['flag_existing_quarantined_media', 'redactions_recheck', 'sliding_sync_membership_snapshots_bg_update']
    for (const name of [...rewriting, 'delayed_events_idx', 'event_txn_id_device_id_txn_id2'])
      expect(shipped.harmlessUpdates).not.toContain(name)
  })

  test('never lets schema or compat fall', () => {
    for (const [at, row] of shipped.versions.entries()) {
      const before = shipped.versions[at - 1] ?? row
      expect([row.schema >= before.schema, row.compat >= before.compat, row.compat <= row.schema]).toEqual([true, true, true])
    }
  })
})

test.each([
  ['RELEASE.2025-09-07T16-13-09Z', 'RELEASE.2026-02-12T20-18-48Z', true],
  ['2025-10-15T17:29:55Z', 'RELEASE.2026-02-12T20-18-48Z', true],
  ['RELEASE.2025-09-06T00-00-00Z', 'RELEASE.2026-02-12T20-18-48Z', false],
  ['RELEASE.2025-09-07T16-13-09Z', 'RELEASE.2026-02-12T20-18-49Z', false],
  ['unknown', 'RELEASE.2026-02-12T20-18-48Z', false],
  ['RELEASE.2025-09-07T16-13-09Z', 'latest', false],
])('the object store %s can return from %s: %s', (older, newer, can) => {
  expect(canObjectStoreReturn(shipped, older, newer)).toBe(can)
  expect(canObjectStoreReturn({ ...shipped, objectStores: [] }, older, newer)).toBe(false)
})

test.each([
  ['out of order', { versions: [...shipped.versions].reverse() }, /is listed after/],
  ['that ends before its last row', { knownUpTo: '1.100.0' }, /1.100.0 is listed after 1.151.0/],
  ['with a MinIO tag that is no release', { objectStores: [{ from: 'latest', to: 'latest' }] }, /objectStores.*must be a release/],
  ['with an update that has no name', { harmlessUpdates: ['drop table'] }, /harmlessUpdates.*must be a name/],
  ['without a row', { versions: [] }, /versions/],
  ['with a word that it does not know', { more: 1 }, /more|unrecognized/i],
])('a table %s is refused', (_, change, message) => {
  expect(() => parseSynapseSchemas({ ...shipped, ...change })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) }),
  )
})
