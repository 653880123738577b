import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BoxCommandPayload } from '../../src/core/boxes/index.ts'
import { compose, readTestbed, testbedExists } from '../testbed/testbed.ts'
import { type AgentRooms, agentRooms } from './support/agent-rooms.ts'
import { type Conversation, converse, reachableBox } from './support/conversation.ts'
import { boxPorts } from './support/ports.ts'
import { eventually } from './support/programs.ts'

const slug = `lc-adopt-${process.pid}`
const ports = boxPorts()
const chatDomain = `${slug}.test`
const password = 'correct-horse-battery-staple'

/** As a person writes it: variables, a published chat server, no edge at all. */
const composeText = () => {
  const { images, registry } = readTestbed()
  return `# By hand, years ago.
services:
  synapse:
    image: ${registry}/tenantry/synapse:\${SYNAPSE_TAG}
    restart: always
    entrypoint: ["/bin/sh", "-c", "chown 991:991 /media && exec /start.py"]
    environment: { SYNAPSE_CONFIG_PATH: /data/homeserver.yaml }
    ports: ["127.0.0.1:${ports.public}:8008"]
    volumes: ["./synapse:/data", "media:/media"]
    depends_on: [postgres]
  postgres:
    image: ${images.postgres.ref}
    restart: always
    environment:
      - POSTGRES_USER=synapse
      - POSTGRES_PASSWORD=${password}
      - POSTGRES_INITDB_ARGS=--encoding=UTF8 --locale=C
    volumes: ["db:/var/lib/postgresql/data"]
  minio:
    image: ${images.minio.ref}
    command: ["server", "/data"]
    environment: { MINIO_ROOT_USER: school, MINIO_ROOT_PASSWORD: ${password} }
    volumes: ["objects:/data"]
volumes:
  db:
  media:
  objects:
`
}

const homeserverText = `# Ours.
server_name: "${chatDomain}"
report_stats: false
listeners:
  - port: 8008
    type: http
    tls: false
    bind_addresses: ['0.0.0.0']
    resources: [{ names: [client], compress: false }]
database:
  name: psycopg2
  args: { user: synapse, password: ${password}, dbname: synapse, host: postgres, cp_min: 2, cp_max: 5 }
media_store_path: /media
signing_key_path: /data/signing.key
macaroon_secret_key: "macaroons of the school"
registration_shared_secret: "shared-secret-of-the-school"
trusted_key_servers: []
suppress_key_server_warning: true
`

describe.skipIf(!testbedExists())('a stack that somebody set up by hand', () => {
  let rooms: AgentRooms
  let folder: string
  let talk: Conversation
  const known = { slug, boxId: 'box_adopt', ownershipEpoch: 1 }
  const completion = (expected: string | null): BoxCommandPayload<'tenant-box.complete'> => ({
    ...known,
    chatDomain,
    publicUrl: `http://127.0.0.1:${ports.public}`,
    ports,
    edgeImage: readTestbed().images.edge.ref,
    probe: { consecutive: 2, spacingMs: 300, timeoutMs: 60_000 },
    expected,
  })
  const file = (path: string) => readFile(join(folder, path), 'utf8')

  beforeAll(async () => {
    rooms = await agentRooms('lc-adoption')
    folder = join(rooms.folder, 'by-hand')
    await mkdir(join(folder, 'synapse'), { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
    await writeFile(join(folder, 'compose.yaml'), composeText(), { mode: 0o600 })
    await writeFile(join(folder, '.env'), 'SYNAPSE_TAG=v1.157.1\n', { mode: 0o600 })
    await writeFile(join(folder, 'synapse/homeserver.yaml'), homeserverText, { mode: 0o600 })
    await writeFile(join(folder, 'synapse/signing.key'), `ed25519 a_hand ${Buffer.alloc(32, 9).toString('base64').replaceAll('=', '')}\n`, {
      mode: 0o600,
    })
    for (const path of ['synapse', 'synapse/homeserver.yaml', 'synapse/signing.key']) await chown(join(folder, path), 991, 991)
    await compose(readTestbed(), folder)('--project-name', slug, 'up', '-d')
    await eventually('the stack answers', async () => (await fetch(`http://127.0.0.1:${ports.public}/health`)).ok)
  })
  afterAll(() => rooms?.end())

  test('is observed, and asked what it lacks: one difference without a secret, and nothing changed', async () => {
    const adopted = await rooms.executors['tenant-box.adopt'](rooms.contextOf('adopt').context, { ...known, folder, project: slug })
    expect(adopted.report).toMatchObject({ managed: false, installed: { synapse: '1.157.1' } })
    const seen = await rooms.executors['tenant-box.complete'](rooms.contextOf('look').context, completion(null))
    expect(seen.findings).toEqual([])
    for (const name of ['compose.yaml', 'synapse/homeserver.yaml', 'synapse/tenantry-appservice.yaml', 'edge/conf.d/box.conf'])
      expect(seen.diff).toContain(`+++ b/${name}`)
    expect(seen.diff).not.toContain(password)
    expect(seen.diff).not.toContain('macaroons of')
    expect([await file('compose.yaml'), await file('synapse/homeserver.yaml')]).toEqual([composeText(), homeserverText])
  })

  test('a completion that does not prove healthy leaves files and box as they were', async () => {
    const { diffSha256 } = await rooms.executors['tenant-box.complete'](rooms.contextOf('look-1').context, completion(null))
    // No box can be proven healthy twice within a millisecond.
    const order = { ...completion(diffSha256), probe: { consecutive: 20, spacingMs: 60_000, timeoutMs: 1 } }
    await expect(rooms.executors['tenant-box.complete'](rooms.contextOf('fails').context, order)).rejects.toMatchObject({
      code: 'PROBE_FAILED',
      message: expect.stringMatching(/the previous files are restored and the box runs as before/),
    })
    expect([await file('compose.yaml'), await file('synapse/homeserver.yaml')]).toEqual([composeText(), homeserverText])
    await eventually('the stack answers as before', async () => (await fetch(`http://127.0.0.1:${ports.public}/health`)).ok, {
      timeoutMs: 30_000,
    })
    expect((await rooms.engine.containers((await rooms.boxes.find(slug))!.project)).map(({ service }) => service).sort()).toEqual([
      'minio',
      'postgres',
      'synapse',
    ])
  })

  test('becomes managed when exactly what was seen is done, and people talk through its edge', async () => {
    const { diffSha256 } = await rooms.executors['tenant-box.complete'](rooms.contextOf('look-2').context, completion(null))
    const { context, delivered } = rooms.contextOf('complete')
    const done = await rooms.executors['tenant-box.complete'](context, completion(diffSha256))
    expect(done).toMatchObject({ applied: true, findings: [], probe: { verdict: 'ok' }, report: { managed: true } })
    expect(delivered).toEqual([expect.objectContaining({ registrationSharedSecret: 'shared-secret-of-the-school' })])
    const outside = await fetch(`http://127.0.0.1:${ports.public}/_matrix/client/v3/login`, { method: 'POST', body: '{}' })
    expect(outside.status).toBe(403)
    talk = await converse(reachableBox(slug, folder, ports), 3)
    await talk.expectComplete()
  })

  test('and then one guarded update passes on it, with every message', async () => {
    const { ref, digest } = readTestbed().images['synapse-1.163.2']
    const result = await rooms.executors['tenant-box.update'](rooms.contextOf('update').context, {
      ...known,
      targets: { services: { synapse: { image: ref, digest } }, migrationsHead: '0000' },
      probe: { consecutive: 2, spacingMs: 300, timeoutMs: 60_000 },
      fence: { mode: 'until-stable' },
      deadlineMs: 600_000,
    })
    expect(result).toMatchObject({ outcome: 'committed', error: null, report: { installed: { synapse: '1.163.2' }, fenced: false } })
    await talk.expectComplete()
  })
})
