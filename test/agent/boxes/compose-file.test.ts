import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readCompose, rewriteImages, rewriteVolumes } from '../../../src/agent/boxes/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'

const edited = `# our box, edited by hand
x-logging: &logging   # shared
  driver: json-file

services:
  postgres:
    image:   'registry.test/postgres:15.14'   # keep at 15
    <<: &base
      restart: unless-stopped
    volumes: [ "db:/var/lib/postgresql/data" ]


  synapse:
    logging: *logging
    image: "registry.test/synapse:v1.157.1" # see the runbook
    volumes:
      - type: volume
        source: media
        target: /media
  edge: { image: registry.test/edge:1.22, <<: *base }
  minio:
    image: registry.test:5000/minio:RELEASE.2026-02-12T20-18-48Z
    volumes:
    - objects:/data
volumes:
  db:
    name: box-oak-db # since March
  media:
  objects:
    labels: { keep: "yes" }
# the end
`

const refusal = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    if (isProblem(error, 'COMPOSE_INVALID')) return error.message
    throw error
  }
  return 'was accepted'
}
const minimal = (image: string, rest = '') => `services:\n  synapse:\n    image: ${image}\n${rest}`

describe('reading', () => {
  test('services, volumes and their real names come out with anchors and merges resolved', () => {
    const facts = readCompose(edited, 'oak')
    expect(facts.services.postgres).toEqual({ image: 'registry.test/postgres:15.14', volumes: ['box-oak-db'] })
    expect(facts.services.synapse).toEqual({ image: 'registry.test/synapse:v1.157.1', volumes: ['oak_media'] })
    expect(facts.volumes).toEqual({ db: 'box-oak-db', media: 'oak_media', objects: 'oak_objects' })
  })

  test.each([
    ['not YAML', 'services: [', /not YAML/],
    ['a tab as indentation', 'services:\n\tsynapse: {}', /not YAML/],
    ['the same key twice', 'services:\n  synapse: { image: a:1 }\n  synapse: { image: a:2 }', /not YAML/],
    ['empty', '', /is empty|not a map/],
    ['a list', '- a\n', /not a map/],
    ['two documents', `${minimal('a:1')}---\n${minimal('a:2')}`, /more than one/],
    ['no services', 'volumes: {}\n', /no services/],
    ['services as text', 'services: none\n', /no services/],
    ['a service without an image', 'services:\n  synapse: { restart: always }\n', /no image/],
    ['an alias to nothing', 'services:\n  synapse: *nothing\n', /not YAML|cannot be resolved|alias/i],
    ['a bomb of aliases', bomb(), /cannot be resolved/],
  ])('%s is refused', (_, text, reason) => {
    expect(refusal(() => readCompose(text, 'oak'))).toMatch(reason)
  })

  test.each([
    ['a volume for backups that is written first', 'volumes: [ "backups:/backups", "db:/var/lib/postgresql/data" ]', 'box-oak-db'],
    ['the folder above', 'volumes: [ "backups:/backups", "db:/var/lib/postgresql" ]', 'box-oak-db'],
    ['another folder', 'environment: { PGDATA: /pg/15 }, volumes: [ "backups:/var/lib/postgresql/data", "db:/pg" ]', 'box-oak-db'],
    [
      'another folder in a list',
      'environment: [ PGDATA=/pg ], volumes: [ "backups:/b", { type: volume, source: db, target: /pg } ]',
      'box-oak-db',
    ],
    ['an image with a folder of its own', 'volumes: [ "./x:/x", "db:/bitnami/postgresql" ]', 'box-oak-db'],
    ['two volumes, neither where it should be', 'volumes: [ "backups:/backups", "db:/db" ]', undefined],
    ['data in a folder of the host', 'volumes: [ "./db:/var/lib/postgresql/data", "backups:/backups" ]', undefined],
    ['no volume at all', 'restart: always', undefined],
  ])('the volume of the database is the one that its data lie in: %s', (_, postgres, volume) => {
    const text = `services:\n  postgres: { image: "a:1", ${postgres} }\nvolumes:\n  backups:\n  db: { name: box-oak-db }\n`
    expect(readCompose(text, 'oak').database).toEqual(volume && { key: 'db', volume })
  })

  test('volumes of its own are those that no other service mounts', () => {
    const services = 'synapse: { image: "a:1", volumes: [ "m:/m", "both:/s" ] }\n  bridge: { image: "a:1", volumes: [ "b:/b", "both:/s" ] }'
    const text = `services:\n  ${services}\nvolumes: { m: , both: , b: , former: }\n`
    expect(readCompose(text, 'oak').ownVolumes).toEqual(['m'])
  })
})

describe('rewriting', () => {
  test('only the image texts change in a file edited by hand', () => {
    const now = rewriteImages(edited, {
      postgres: 'registry.test/postgres:15.15',
      synapse: 'registry.test/synapse:v1.163.2',
      edge: 'registry.test/edge:1.24',
    })
    expect(now).toBe(edited.replace('postgres:15.14', 'postgres:15.15').replace('v1.157.1', 'v1.163.2').replace('edge:1.22', 'edge:1.24'))
  })

  test('volume names change in place, and unnamed volumes get one', () => {
    const now = rewriteVolumes(edited, { db: 'box-oak-db-2', media: 'box-oak-media-2', objects: 'box-oak-objects-2' })
    expect(now).toBe(
      edited
        .replace('name: box-oak-db #', 'name: box-oak-db-2 #')
        .replace('  media:\n  objects', '  media: { name: box-oak-media-2 }\n  objects')
        .replace('    labels: { keep', '    name: box-oak-objects-2\n    labels: { keep'),
    )
    expect(readCompose(now, 'oak').volumes).toEqual({ db: 'box-oak-db-2', media: 'box-oak-media-2', objects: 'box-oak-objects-2' })
  })

  test.each([
    ['an empty flow map', 'volumes: { db: {} }', 'volumes: { db: { name: n } }'],
    ['a flow map', 'volumes: { db: { driver: local } }', 'volumes: { db: { name: n, driver: local } }'],
    ['a tilde', 'volumes:\n  db: ~\n', 'volumes:\n  db: { name: n }\n'],
    ['a quoted name', 'volumes:\n  db:\n    name: "x"\n', 'volumes:\n  db:\n    name: "n"\n'],
  ])('a volume that is %s is named', (_, before, after) => {
    expect(rewriteVolumes(`${minimal('a:1')}${before}`, { db: 'n' })).toBe(`${minimal('a:1')}${after}`)
  })

  test('line ends of another system and a byte order mark stay', () => {
    const text = `\ufeff${minimal('a:1', '    restart: always # yes\n')}volumes:\n  db:\n    labels: {}\n`.replaceAll('\n', '\r\n')
    expect(rewriteImages(text, { synapse: 'a:2' })).toBe(text.replace('a:1', 'a:2'))
    expect(rewriteVolumes(text, { db: 'n' })).toBe(text.replace('    labels', '    name: n\r\n    labels'))
  })

  test.each([
    ['a variable', minimal(`"registry.test/synapse:\${TAG:-v1}"`), /variable/],
    ['an alias', `x-image: &image a:1\n${minimal('*image')}`, /alias/],
    ['a merge', `x-base: &base { image: "a:1" }\nservices:\n  synapse: { <<: *base }\n`, /alias or a merge/],
    ['an anchor that others use', `services:\n  synapse: { image: &shared a:1 }\n  edge: { image: *shared }\n`, /anchor &shared/],
    ['a block', 'services:\n  synapse:\n    image: >-\n      a:1\n', /block/],
    ['a service that is an alias', `x-s: &s { image: "a:1" }\nservices:\n  synapse: *s\n`, /alias/],
    ['no such service', 'services:\n  edge: { image: a:1 }\n', /no service synapse/],
  ])('an image that comes from %s is refused', (_, text, reason) => {
    expect(refusal(() => rewriteImages(text, { synapse: 'a:2' }))).toMatch(reason)
  })

  test('an unused anchor does not matter', () => {
    expect(rewriteImages(minimal('&mine a:1'), { synapse: 'a:2' })).toBe(minimal('&mine a:2'))
  })

  test('a new image or volume name that is none is refused', () => {
    expect(refusal(() => rewriteImages(minimal('a:1'), { synapse: 'a:1 # x' }))).toMatch(/not a literal image/)
    expect(refusal(() => rewriteVolumes(edited, { db: 'a}\nservices: {}' }))).toMatch(/cannot use the volume name/)
    expect(refusal(() => rewriteVolumes(`${minimal('a:1')}volumes: { db: { external: true } }`, { db: 'n' }))).toMatch(/external/)
  })

  test('there and back is the same file, whatever the comments', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii', maxLength: 30 }), fc.constantFrom('', '"', "'"), (comment, quote) => {
        const text = `# ${comment}\n${minimal(`${quote}a.test/synapse:v1${quote} # ${comment}`)}# ${comment}\n`
        expect(rewriteImages(rewriteImages(text, { synapse: 'a.test/synapse:v22' }), { synapse: 'a.test/synapse:v1' })).toBe(text)
      }),
    )
  })
})

function bomb(): string {
  const levels = Array.from({ length: 8 }, (_, level) =>
    level === 0
      ? 'x0: &a0 [a, a, a, a, a, a, a, a, a]'
      : `x${level}: &a${level} [${Array(9)
          .fill(`*a${level - 1}`)
          .join(', ')}]`,
  )
  return `${levels.join('\n')}\n${minimal('a:1')}`
}
