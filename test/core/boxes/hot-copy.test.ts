import { expect, test } from 'vitest'
import { type HotCopyFacts, type HotCopyInput, whyNoHotCopy } from '../../../src/core/boxes/index.ts'

const facts: HotCopyFacts = {
  ...{ major: 15, walLevel: 'replica', freeSlots: 10, fullPageWrites: true, isStandby: false, isSuperuser: true },
  ...{ checksumFailures: 0, tablespaces: 0 },
}
const needs: HotCopyInput = { facts, databaseBytes: 1e9, freeDiskBytes: 5e9 }
const having = (change: Partial<HotCopyFacts>): HotCopyInput => ({ ...needs, facts: { ...facts, ...change } })

test.each<[what: string, HotCopyInput]>([
  ['the defaults of PostgreSQL 15', needs],
  ['a newer one that also decodes its log', having({ major: 18, walLevel: 'logical' })],
  ['one free slot', having({ freeSlots: 1 })],
  ['a database of unknown size', { ...needs, databaseBytes: null }],
  ['a disk of unknown size', { ...needs, freeDiskBytes: null }],
  ['room for the copy and for a load of the dump', { ...needs, freeDiskBytes: 2e9 }],
])('a database is copied while it serves: %s', (_, needs) => {
  expect(whyNoHotCopy(needs)).toBeUndefined()
})

test.each<[reason: RegExp, HotCopyInput]>([
  [/did not report what a hot copy needs/, { ...needs, facts: null }],
  [/did not report what a hot copy needs/, { ...needs, facts: undefined }],
  [/PostgreSQL 14 has other backup functions/, having({ major: 14 })],
  [/is a standby/, having({ isStandby: true })],
  [/wal_level of PostgreSQL is minimal/, having({ walLevel: 'minimal' })],
  [/no free replication slot/, having({ freeSlots: 0 })],
  [/full_page_writes of PostgreSQL is off/, having({ fullPageWrites: false })],
  [/no superuser/, having({ isSuperuser: false })],
  [/found 2 damaged pages/, having({ checksumFailures: 2 })],
  [/has 1 tablespace outside/, having({ tablespaces: 1 })],
  [/no room for a copy/, { ...needs, freeDiskBytes: 1.9e9 }],
])('it is not, with the reason %s', (reason, needs) => {
  expect(whyNoHotCopy(needs)).toMatch(reason)
})
