import { chmod, chown, mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises'
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

/** As a person writes it, on Windows: variables, a published chat server, no edge at all. */
const composeText = (database = 'bigdisk') => {
  const { images, registry } = readTestbed()
  const text = `# By hand, years ago.
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
    volumes: [${database}:/var/lib/postgresql/data]
  minio:
    image: ${images.minio.ref}
    command: ["server", "/data"]
    environment: { MINIO_ROOT_USER: school, MINIO_ROOT_PASSWORD: ${password} }
    volumes: ["objects:/data"]
volumes: { ${database}: , media: , objects: }
`
  return `\uFEFF${text.replaceAll('\n', '\r\n')}`
}

/** The disk was full once, and somebody moved the database without a change of the main file. */
const overrideText = `services:
  postgres:
    volumes: ["bigdisk:/var/lib/postgresql/data"]
volumes:
  bigdisk:
`

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

  /** As its people call compose: with the files beside the main one. */
  const byHand =
    (...files: string[]) =>
    (...args: string[]) =>
      compose(readTestbed(), folder)(...files.flatMap((name) => ['--file', join(folder, name)]), '--project-name', slug, ...args)
  const write = (path: string, text: string) => writeFile(join(folder, path), text, { mode: 0o600 })
  const adopt = () => rooms.executors['tenant-box.adopt'](rooms.contextOf('adopt').context, { ...known, folder, project: slug })
  const show = (commandId: string) => rooms.executors['tenant-box.complete'](rooms.contextOf(commandId).context, completion(null))
  const containerIds = async () => {
    const containers = await rooms.engine.containers((await rooms.boxes.find(slug))!.project)
    return Object.fromEntries(containers.map(({ service, id, state }) => [service, `${state} ${id}`]))
  }
  const beginUpdate = async (commandId: string) => {
    const { ref, digest } = readTestbed().images['synapse-1.163.2']
    return rooms.executors['tenant-box.update'](rooms.contextOf(commandId).context, {
      ...known,
      targets: { services: { synapse: { image: ref, digest } }, migrationsHead: '0000' },
      probe: { consecutive: 2, spacingMs: 300, timeoutMs: 60_000 },
      fence: { mode: 'until-stable' },
      deadlineMs: 600_000,
    })
  }

  beforeAll(async () => {
    rooms = await agentRooms('lc-adoption')
    folder = join(rooms.folder, 'by-hand')
    await mkdir(join(folder, 'synapse'), { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
    await writeFile(join(folder, 'compose.yaml'), composeText('db'), { mode: 0o600 })
    await writeFile(join(folder, 'compose.override.yaml'), overrideText, { mode: 0o600 })
    await writeFile(join(folder, '.env'), 'SYNAPSE_TAG=v1.157.1\n', { mode: 0o600 })
    await writeFile(join(folder, 'synapse/homeserver.yaml'), homeserverText, { mode: 0o600 })
    await writeFile(join(folder, 'synapse/signing.key'), `ed25519 a_hand ${Buffer.alloc(32, 9).toString('base64').replaceAll('=', '')}\n`, {
      mode: 0o600,
    })
    for (const path of ['synapse', 'synapse/homeserver.yaml', 'synapse/signing.key']) await chown(join(folder, path), 991, 991)
    await byHand('compose.override.yaml')('up', '-d')
    await eventually('the stack answers', async () => (await fetch(`http://127.0.0.1:${ports.public}/health`)).ok)
  })
  afterAll(async () => {
    // A move takes along only the volumes of the box.
    await rooms?.engine.removeProject(slug)
    await rooms?.end()
  })

  test('whose override file moves the database is refused before anything is touched, and told which file', async () => {
    const moved = `postgres mounts volume ${slug}_bigdisk at /var/lib/postgresql/data, but compose.yaml mounts volume ${slug}_db there: it was started from compose.yaml and compose.override.yaml`
    expect((await adopt()).findings).toEqual(expect.arrayContaining([expect.stringContaining(moved)]))
    const { findings, diffSha256 } = await show('look-override')
    expect(findings).toEqual([
      expect.stringMatching(/^docker compose adds compose\.override\.yaml to compose\.yaml, .* fix: move its settings into compose\.yaml/),
      expect.stringContaining(moved),
    ])
    const before = await containerIds()
    await expect(rooms.executors['tenant-box.complete'](rooms.contextOf('override').context, completion(diffSha256))).rejects.toMatchObject(
      { code: 'PREFLIGHT_REFUSED', message: expect.stringContaining(moved) },
    )
    expect(await containerIds()).toEqual(before)
    await rename(join(folder, 'compose.override.yaml'), join(folder, 'prod.yaml'))
    await write('.env', 'SYNAPSE_TAG=v1.157.1\nCOMPOSE_FILE=compose.yaml:prod.yaml\n')
    expect((await show('look-variable')).findings[0]).toMatch(/^COMPOSE_FILE in \.env adds prod\.yaml to compose\.yaml/)
  })

  test('needs no restart when its settings are in one file, and is refused with an edit that was not brought up', async () => {
    const before = await containerIds()
    await unlink(join(folder, 'prod.yaml'))
    await write('.env', 'SYNAPSE_TAG=v1.157.1\n')
    await write('compose.yaml', composeText().replace('{ bigdisk: ,', '{ bigdisk: { name: other } ,'))
    expect((await show('look-name')).findings).toEqual([
      expect.stringMatching(/postgres mounts volume \S+_bigdisk at .*, but compose\.yaml mounts volume other there/),
    ])
    await write('compose.yaml', composeText().replace('"server", "/data"', '"server", "--quiet", "/data"'))
    expect((await show('look-command')).findings).toEqual([expect.stringMatching(/^minio runs with other settings than compose\.yaml has/)])
    await write('compose.yaml', `${composeText()}networks: { default: { internal: true, labels: { owner: ours } } }\r\n`)
    const network = `network ${slug}_default has internal false, labels.owner unset, but compose.yaml has internal true, labels.owner ours`
    expect((await show('look-network')).findings).toEqual([expect.stringContaining(network)])
    await write('compose.yaml', composeText())
    expect((await show('look-same')).findings).toEqual([])
    expect(await containerIds()).toEqual(before)
  })

  test('is observed, and asked what it lacks: one difference without a secret, and nothing changed', async () => {
    const adopted = await adopt()
    expect(adopted.findings.filter((finding) => /mounts|settings|networks/.test(finding))).toEqual([])
    expect(adopted.report).toMatchObject({ managed: false, installed: { synapse: '1.157.1' } })
    const seen = await show('look')
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
    const completed = await file('compose.yaml')
    for (const kept of ['\uFEFF# By hand, years ago.\r\n', '\r\nvolumes: { bigdisk: , media: , objects: }\r\n'])
      expect(completed).toContain(kept)
    expect(completed.replaceAll('\r\n', '')).not.toContain('\n')
    talk = await converse(reachableBox(slug, folder, ports), 3)
    await talk.expectComplete()
  })

  test('is not updated while a volume of the chat server comes from an override file: the update would drop it', async () => {
    await write('compose.override.yaml', 'services: { synapse: { volumes: ["media2:/media"] } }\nvolumes: { media2: }\n')
    await byHand('compose.override.yaml')('up', '-d', '--no-deps', 'synapse')
    const before = await containerIds()
    const refused = await beginUpdate('update-override')
    expect(refused).toMatchObject({
      outcome: 'failed',
      fencedMs: 0,
      error: {
        code: 'PREFLIGHT_REFUSED',
        message: expect.stringMatching(/synapse mounts volume \S+_media2 at \/media, .*compose\.override\.yaml/),
      },
    })
    expect(refused.report?.facts).toMatchObject({ wouldRecreate: ['synapse'], differences: [expect.stringContaining('_media2')] })
    expect(await containerIds()).toEqual(before)
    await unlink(join(folder, 'compose.override.yaml'))
    // A server that is only starting ignores the signal to stop.
    await byHand()('up', '-d', '--no-deps', '--timeout', '1', 'synapse')
    const box = (await rooms.boxes.find(slug))!
    await eventually('the chat server answers', async () => (await rooms.servers.serverVersions(box)).synapse === '1.157.1')
  })

  test('and then one guarded update passes on it, with every message', async () => {
    const result = await beginUpdate('update')
    expect(result).toMatchObject({ outcome: 'committed', error: null, report: { installed: { synapse: '1.163.2' }, fenced: false } })
    await talk.expectComplete()
  })

  test('and moves: its new host renders it from the box template, with every message', async () => {
    const run = rooms.executors
    const { snapshot } = await run['tenant-box.hand_over'](rooms.contextOf('hand-over').context, { ...known, deadlineMs: 300_000 })
    await run['tenant-box.remove'](rooms.contextOf('remove').context, known)
    const newPorts = boxPorts()
    const result = await run['tenant-box.take_over'](rooms.contextOf('take-over').context, {
      ...known,
      ownershipEpoch: 2,
      chatDomain,
      publicUrl: `http://127.0.0.1:${newPorts.public}`,
      snapshotId: snapshot.snapshotId,
      snapshotSha256: snapshot.snapshotSha256,
      ports: newPorts,
      probe: { consecutive: 2, spacingMs: 300, timeoutMs: 60_000 },
      deadlineMs: 300_000,
    })
    expect(result).toMatchObject({ outcome: 'restored', error: null, report: { managed: true, fenced: false } })
    const moved = join(rooms.folder, 'boxes', slug)
    expect(await readFile(join(moved, 'synapse/homeserver.yaml'), 'utf8')).toMatch(/^macaroon_secret_key: macaroons of the school$/m)
    expect(await readFile(join(moved, 'secrets/minio/root-user'), 'utf8')).toBe('school\n')
    talk.follow(reachableBox(slug, moved, newPorts).publicUrl)
    await talk.expectComplete()
  })
})
