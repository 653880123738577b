import { beforeAll, describe, expect, test } from 'vitest'
import { composeFacts, reasonNotRestorable, rewriteVolumes } from '../../../src/agent/boxes/index.ts'
import type { ContainerEngine, LocalBox } from '../../../src/agent/ports/index.ts'

const services = `services:
  edge: { image: "a.test/edge:1" }
  synapse: { image: "a.test/synapse:v1", volumes: [ "media:/media" ] }
  postgres: { image: "a.test/postgres:15", volumes: [ "db:/var/lib/postgresql/data" ] }
  minio: { image: "a.test/minio:R1", volumes: [ { type: volume, source: objects, target: /data } ] }
`

/** Forms in which owners write volumes, each with what `volumes` becomes when the database gets the name `new`. */
const supported: readonly [form: string, text: string, after: string | RegExp][] = [
  ['keys alone', `${services}volumes:\n  db:\n  media:\n  objects:\n`, '\n  db: { name: new }\n  media:\n'],
  ['keys alone with remarks', `${services}volumes:\n  db: # ours: keep\n  media:\n  objects:\n`, '  db: { name: new } # ours: keep\n'],
  ['names', `${services}volumes:\n  db:\n    name: 'x' # since March\n  media: {}\n  objects: {}\n`, `    name: 'new' # since March\n`],
  ['a name from a variable', `${services}volumes:\n  db: { name: "\${STACK:-x}_db" }\n  media:\n  objects:\n`, '  db: { name: "new" }\n'],
  [
    'an alias for others',
    `${services}volumes:\n  db: &local\n    driver: local\n  media: *local\n  objects: *local\n`,
    /\n {4}name: new\n/,
  ],
  ['an anchor without a value', `${services}volumes:\n  db: &local\n  media: *local\n  objects:\n`, /\n {4}name: new\n/],
  ['an alias', `x-v: &local { driver: local }\n${services}volumes: { db: *local, media: *local, objects: }\n`, /\n {4}name: new\n/],
  ['a merge', `x-v: &v { name: x }\n${services}volumes:\n  db: { <<: *v, driver: local }\n  media:\n  objects:\n`, ' name: new, <<: *v'],
  ['a merge of all', `x-v: &v { db: , media: }\n${services}volumes: { <<: *v, objects: }\n`, /\n {4}name: new\n/],
  ['a section that is an alias', `x-v: &v { db: , media: , objects: }\n${services}volumes: *v\n`, /\n {4}name: new\n/],
  ['a list in braces', `${services}volumes: { db, media, objects }\n`, /\n {4}name: new\n/],
  ['keys with a question mark', `${services}volumes:\n  ? db\n  ? media\n  ? objects\n# end\n`, /\n {4}name: new\n/],
  ['a whole file in braces', wholeInBraces(), /db: \{ name: new \}/],
  [
    'CRLF and a byte order mark',
    `\ufeff${services}volumes:\n  ? db\n  media:\n  objects:\n`.replaceAll('\n', '\r\n'),
    /\r\n {4}name: new\r\n/,
  ],
]

function wholeInBraces(): string {
  const of = (name: string, mount: string) => `${name}: { image: "a.test/${name}:1", volumes: [ "${mount}" ] }`
  const all = [of('synapse', 'media:/m'), of('postgres', 'db:/var/lib/postgresql/data'), of('minio', 'objects:/data')]
  return `{ services: { edge: { image: "a.test/edge:1" }, ${all.join(', ')} }, volumes: { db, media, objects } }\n`
}

/** Forms that no restore can replace, each with the reason. */
const refused: readonly [form: string, text: string, reason: RegExp][] = [
  [
    'external',
    `${services}volumes:\n  media:\n  objects:\n  db: { external: true, name: x }\n`,
    /volume db \(line 9 .*is external\. fix: remove/,
  ],
  ['external objects', `${services}volumes:\n  db:\n  media:\n  objects:\n    external: true\n`, /volume objects \(line 9 .*external/],
  [
    'a folder',
    `${services}volumes:\n  db: { driver_opts: { type: none, o: bind, device: /mnt } }\n  media:\n  objects:\n`,
    /db \(line 7.*driver_opts/,
  ],
  ['another driver', `${services}volumes:\n  db:\n  media: { driver: rclone }\n  objects:\n`, /volume media \(line 8.*driver rclone/],
  ['an alias used below', `volumes: { db: &v { }, media: , objects: }\nx-v: *v\n${services}`, /cannot be changed/],
  [
    'a bind mount',
    `${services.replace('db:/var', './db:/var')}volumes: { media: , objects: }\n`,
    /no named volume for the data of PostgreSQL/,
  ],
  [
    'a log elsewhere',
    `${services.replace('volumes: [ "db:', 'environment: [ POSTGRES_INITDB_WALDIR=/wal ], volumes: [ "wal:/wal", "db:')}volumes: { db: , wal: , media: , objects: }\n`,
    /write-ahead log outside its data volume/,
  ],
  [
    'a part of a volume',
    `${services.replace('target: /data }', 'target: /data, volume: { subpath: a } }')}volumes: { db: , media: , objects: }\n`,
    /minio mounts a subpath/,
  ],
  ['no YAML', `${services}volumes: [\n`, /compose/i],
]

/** Rules about the volumes of a box, as this engine's compose reads them. */
export function composeForms(title: string, fresh: () => Promise<Pick<ContainerEngine, 'resolveCompose'>>): void {
  describe(title, () => {
    let engine: Pick<ContainerEngine, 'resolveCompose'>
    const project = { name: 'box-oak', folder: '/srv/oak', composeFile: '/srv/oak/compose.yaml' }
    const box = { slug: 'oak', project, managed: true } as LocalBox
    beforeAll(async () => {
      engine = await fresh()
    })

    test.each(supported)('%s: compose mounts the new volume, and nothing else changes', async (_, text, after) => {
      expect(await reasonNotRestorable({ engine }, box, text)).toBeUndefined()
      const rewritten = rewriteVolumes(text, { db: 'new' })
      expect(rewritten).toMatch(after)
      const [was, is] = [await engine.resolveCompose(project, text), await engine.resolveCompose(project, rewritten)]
      expect(composeFacts(is, project.name).database).toEqual({ key: 'db', volume: 'new' })
      expect(is.services).toEqual(was.services)
      expect(is.volumes).toMatchObject({ ...(was.volumes as object), db: { ...(was.volumes as { db: object }).db, name: 'new' } })
    })

    test.each(refused)('%s: refused with the reason', async (_, text, reason) => {
      expect(await reasonNotRestorable({ engine }, box, text)).toMatch(reason)
    })

    test('names and mounts are those that compose sets', async () => {
      const text = `${services}volumes: { db: { name: "\${STACK:-x}_db" }, media: , objects: }\n`
      const facts = composeFacts(await engine.resolveCompose(project, text), project.name)
      expect(facts.volumes).toEqual({ db: 'x_db', media: 'box-oak_media', objects: 'box-oak_objects' })
      expect(facts.services.minio?.volumes).toEqual(['box-oak_objects'])
    })
  })
}
