import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { KnownBox } from '../../../src/core/rollouts/index.ts'
import {
  hostsToAsk,
  imagesOf,
  knownImages,
  pinnedDigests,
  type RegistryAnswer,
  unresolvedImages,
} from '../../../src/core/rollouts/plan-images.ts'
import { aReport } from '../../support/boxes.ts'
import { aPlan, aPlannedBox } from '../../support/records.ts'
import { aKnownBox } from '../../support/rollouts.ts'

const image = 'registry.example/synapse:v1.163.2'
const sum = (sign: string) => `sha256:${sign.repeat(64)}`
const running = (slug: string, digest: string | null): KnownBox => {
  const synapse = { image, digest, state: 'running', restartCount: 0 }
  return aKnownBox(slug, { report: aReport(slug, { services: { synapse } as never }) })
}
const told: RegistryAnswer = { digest: sum('c'), host: 'amsel' }
const silent: RegistryAnswer = { digest: null, why: 'amsel: no answer within 5 s' }

describe('what an image is', () => {
  test.each<[string, KnownBox[], RegistryAnswer | undefined, object]>([
    [
      'is what two hosts run, whatever its registry says',
      [running('a', sum('a')), running('b', sum('a'))],
      told,
      { digest: sum('a'), from: 'fleet' },
    ],
    [
      'is unconfirmed, if one of two hosts runs it and no registry was asked',
      [running('a', sum('a')), running('b', null)],
      undefined,
      { digest: sum('a'), from: 'fleet', askedFrom: 'host-of-a', confirmedBy: null },
    ],
    [
      'is unconfirmed, if one of two hosts runs it and no host resolves it',
      [running('a', sum('a')), running('b', null)],
      silent,
      { digest: sum('a'), from: 'fleet', confirmedBy: null, why: silent.why as string },
    ],
    [
      'is confirmed, if another host resolves what one runs',
      [running('a', sum('c')), running('b', null)],
      { ...told, confirmedBy: null },
      { digest: sum('c'), from: 'registry', askedFrom: 'amsel', confirmedBy: 'host-of-a' },
    ],
    [
      'is unconfirmed, if only the host that runs it resolves it',
      [running('a', sum('c')), running('b', null)],
      { ...told, host: 'host-of-a', confirmedBy: null },
      { digest: sum('c'), from: 'registry', confirmedBy: null },
    ],
    [
      'is disputed, if one host runs another digest than the registry has',
      [running('a', sum('a')), running('b', null)],
      { ...told, confirmedBy: 'sperling' },
      { digest: null, from: 'disputed', why: `host-of-a runs ${sum('a')}; amsel: ${sum('c')}` },
    ],
    [
      'does not exist, if its registry says so, even where one host runs it',
      [running('a', sum('a')), running('b', null)],
      { ...silent, missing: true },
      { digest: null, from: 'missing' },
    ],
    ['is what the fleet runs', [running('a', sum('a'))], undefined, { digest: sum('a'), from: 'fleet' }],
    ['is what the fleet runs, whatever its registry says', [running('a', sum('a'))], told, { digest: sum('a'), from: 'fleet' }],
    ['is what its registry says, if the fleet does not run it', [], told, { digest: sum('c'), from: 'registry', askedFrom: 'amsel' }],
    ['is that too under a tag of which the fleet runs two', [running('a', sum('a')), running('b', sum('b'))], told, { from: 'registry' }],
    ['is that too where the fleet has no digest of it', [running('a', null)], told, { digest: sum('c'), from: 'registry' }],
    ['is told by the first pull, where nobody could say', [], silent, { digest: null, from: 'first-pull', why: silent.why as string }],
    ['does not exist, where its registry says so', [], { ...silent, missing: true }, { digest: null, from: 'missing' }],
    ['is told by the first pull, where nobody was asked', [], undefined, { image, digest: null, from: 'first-pull' }],
    ['is not one of two', [running('a', sum('a')), running('b', sum('b'))], undefined, { digest: null, from: 'first-pull' }],
  ])('%s', (_, boxes, said, expected) => {
    expect(knownImages(boxes, new Map(said ? [[image, said]] : []))(image)).toMatchObject(expected)
  })

  test('does not rest on the order of the boxes', () => {
    const some = fc.array(fc.constantFrom(sum('a'), sum('b'), null), { maxLength: 5 })
    fc.assert(
      fc.property(some, (digests) => {
        const boxes = digests.map((digest, at) => running(`b${at}`, digest))
        expect(knownImages(boxes, new Map())(image)).toEqual(knownImages(boxes.toReversed(), new Map())(image))
      }),
    )
  })
})

const know = (one: string) => ({ image: one, digest: null, from: 'first-pull' as const })

test('each image of the boxes that move is named once; what the others would get is not', () => {
  const synapse = { synapse: { image, digest: null } }
  const both = { postgres: { image: 'registry.example/postgres:17.7', digest: null }, ...synapse }
  const refused = aPlannedBox('elm', { does: 'refuse', images: { minio: { image: 'registry.example/minio:R2', digest: null } } })
  const boxes = [aPlannedBox('oak', { images: synapse }), aPlannedBox('ash', { images: both }), refused]
  expect(imagesOf(boxes, know).map((one) => one.image)).toEqual(['registry.example/postgres:17.7', image])
})

test('only what its registry said is pulled by that digest, and only what nobody knows is asked for', () => {
  const images = [
    { image: 'a:1', digest: sum('a'), from: 'fleet' as const },
    { image: 'b:1', digest: sum('b'), from: 'registry' as const },
    know('c:1'),
  ]
  expect(pinnedDigests(aPlan([], { images }))).toEqual({ 'b:1': sum('b') })
  expect(unresolvedImages(aPlan([], { images }))).toEqual(['c:1'])
  const alone = { image: 'd:1', digest: sum('d'), from: 'fleet' as const, confirmedBy: null }
  expect(unresolvedImages(aPlan([], { images: [...images, alone] }))).toEqual(['c:1', 'd:1'])
  expect([pinnedDigests(aPlan([])), unresolvedImages(aPlan([]))]).toEqual([{}, []])
})

test('hosts are asked in the order in which they would pull, each for one of its boxes that move', () => {
  const on = (host: string) => ({ hostId: `hst_${host}`, hostName: host })
  const plan = aPlan([
    aPlannedBox('ash', { phase: 'pro', ...on('sperling') }),
    aPlannedBox('elm', { phase: 'free_5', does: 'refuse', ...on('zeisig') }),
    aPlannedBox('fir', { phase: 'free_100', ...on('sperling') }),
    aPlannedBox('oak', { phase: 'canary', ...on('amsel') }),
  ])
  expect(hostsToAsk(plan).map(({ hostName, boxId }) => [hostName, boxId])).toEqual([
    ['amsel', aPlannedBox('oak').boxId],
    ['sperling', aPlannedBox('fir').boxId],
  ])
})
