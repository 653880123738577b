import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { diffManifests, parseManifest } from '../../../src/core/boxes/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'
import { aManifest } from '../../support/boxes.ts'

const withFree = (change: object) => ({ ...aManifest(), tiers: { ...aManifest().tiers, free: { ...aManifest().tiers.free, ...change } } })

const withGate = (gate: object) => ({ ...aManifest(), gates: { errors: gate } })

test.each([
  ['an unknown tier', { ...aManifest(), tiers: { ...aManifest().tiers, gold: aManifest().tiers.free } }, 'tiers.gold'],
  ['a missing tier', { ...aManifest(), tiers: { free: aManifest().tiers.free, pro: aManifest().tiers.pro } }, 'tiers.enterprise'],
  ['a missing version', withFree({ synapse: undefined }), 'tiers.free.synapse'],
  ['latest', withFree({ postgres: 'latest' }), 'tiers.free.postgres'],
  ['a version with shell characters', withFree({ minio: '1;reboot' }), 'tiers.free.minio'],
  ['a migrations head that is no number', withFree({ migrationsHead: '12' }), 'tiers.free.migrationsHead'],
  ['an image that cannot be read', { ...aManifest(), images: { ...aManifest().images, synapse: 'synapse v{version}' } }, 'images.synapse'],
  ['an image without the place of the version', { ...aManifest(), images: { ...aManifest().images, minio: 'minio:1' } }, 'images.minio'],
  ['a missing image', { ...aManifest(), images: { ...aManifest().images, edge: undefined } }, 'images.edge'],
  ['an unknown field', { ...aManifest(), comment: 'hi' }, 'comment'],
  [
    'a digest that is none',
    { ...aManifest(), digests: { 'registry.example/synapse:v1': 'sha256:0' } },
    'digests.registry.example/synapse:v1',
  ],
  ['a gate without a limit', withGate({ query: 'up' }), 'gates.errors.atMost'],
  ['a gate whose limits no value meets', withGate({ query: 'up', atLeast: 2, atMost: 1 }), 'gates.errors.atLeast'],
  ['a gate without a query', withGate({ query: ' ', atMost: 1 }), 'gates.errors.query'],
  ['a query that is too long', withGate({ query: 'a'.repeat(1001), atMost: 1 }), 'gates.errors.query'],
  ['a query with control characters', withGate({ query: 'up\u001b[2J', atMost: 1 }), 'gates.errors.query'],
  ['a limit that is text', withGate({ query: 'up', atMost: '1' }), 'gates.errors.atMost'],
  ['a duration that is none', withGate({ query: 'up', atMost: 1, for: '10 minutes' }), 'gates.errors.for'],
  ['a duration above a day', withGate({ query: 'up', atMost: 1, for: '25h' }), 'gates.errors.for'],
  ['an unknown answer to no answer', withGate({ query: 'up', atMost: 1, onNoAnswer: 'abort' }), 'gates.errors.onNoAnswer'],
  ['an unknown field of a gate', withGate({ query: 'up', atMost: 1, every: '1m' }), 'gates.errors.every'],
  ['the name of a gate with a space', { ...aManifest(), gates: { 'my errors': { query: 'up', atMost: 1 } } }, 'gates.my errors'],
  [
    'eleven gates',
    { ...aManifest(), gates: Object.fromEntries(Array.from('abcdefghijk', (n) => [n, { query: 'up', atMost: 1 }])) },
    'gates',
  ],
  ['nothing at all', null, '(whole)'],
])('a manifest with %s is refused, naming the field', (_, manifest, path) => {
  try {
    parseManifest(manifest)
    expect.unreachable()
  } catch (error) {
    expect(isProblem(error, 'MANIFEST_INVALID')).toBe(true)
    if (isProblem(error)) expect(error.details?.map((one) => one.path)).toContain(path)
  }
})

test('a version without quotes, which YAML reads as a number, is refused with what to write', () => {
  const wrong = withFree(parse('{ postgres: 15.18, migrationsHead: 0, synapse: 1.163.2 }'))
  expect(() => parseManifest(wrong)).toThrow(/tiers\.free\.postgres must be text: write it in quotes, such as "15\.18"/)
  expect(() => parseManifest(wrong)).toThrow(/tiers\.free\.migrationsHead must be text/)
})

test('every invalid field is named at once', () => {
  const wrong = withFree({ synapse: 'latest', postgres: undefined })
  expect(() => parseManifest(wrong)).toThrow(/tiers\.free\.postgres .*; tiers\.free\.synapse .*latest/)
})

test('the manifest in config/ is valid', () => {
  expect(() => parseManifest(parse(readFileSync('config/manifest.yaml', 'utf8')))).not.toThrow()
})

test('gates are read as they are written', () => {
  const written = parse(`
    errors: { query: 'sum(rate(errors_total[5m]))', atMost: 0.5, for: 10m }
    boxes: { query: sum(tenantry_box_up), atLeast: 3, onNoAnswer: continue }
    latency:
      query: |
        histogram_quantile(0.99,
          sum by (le) (rate(seconds_bucket[5m])))
      atLeast: -1
      atMost: 1e3
      for: 24h`)
  const { gates } = parseManifest({ ...aManifest(), gates: written })
  expect(gates).toEqual({ ...written, latency: { ...written.latency, query: written.latency.query.trim() } })
})

test('a difference has a path and both values', () => {
  expect(diffManifests(aManifest(), aManifest())).toEqual([])
  expect(diffManifests(aManifest(), withFree({ synapse: '1.163.2' }) as ReturnType<typeof aManifest>)).toEqual([
    { path: 'tiers.free.synapse', from: '1.157.1', to: '1.163.2' },
  ])
  expect(diffManifests(undefined, aManifest())).toHaveLength(16)
})
