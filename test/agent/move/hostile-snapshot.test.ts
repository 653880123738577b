import { link, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { handOver, takeOver } from '../../../src/agent/move/index.ts'
import { canonicalJson } from '../../../src/core/kit/index.ts'
import { moving } from '../simulated/boxes.ts'
import { aContext, type Deps, handOverPayload, takeOverPayload, twoHosts } from './a-move.ts'

// The old host is compromised: the snapshot that it hands over has what it likes. Each attack is refused by name or has no effect.

type Attack = (snapshot: { box: string; dump: string; victim: string }) => Promise<unknown>
type Two = Awaited<ReturnType<typeof twoHosts>>

/** A take-over of a snapshot that the attack changed after it was fetched, and what became of the new host. */
async function attacked(attack: Attack, two?: Two) {
  const world = two ?? (await twoHosts())
  const { clock, old, next } = world
  const victim = join(next.folder, 'victim')
  await mkdir(victim)
  await writeFile(join(victim, 'secret'), 'of the host\n')
  await writeFile(join(victim, 'homeserver.yaml'), 'server_name: of the host\n')
  const before = await filesIn(victim)
  const { snapshot } = await moving(clock, async () => handOver(await old.agent())(aContext('hand-over'), handOverPayload()), 1_000)
  const deps = await next.agent()
  const fetched = new Set<string>()
  const snapshots: Deps['snapshots'] = {
    ...deps.snapshots,
    restore: async (repository, { id, path, into }, signal) => {
      await deps.snapshots.restore(repository, { id, path, into }, signal)
      fetched.add(into)
      const [box, dump] = ['/box', '/dump'].map((end) => [...fetched].find((folder) => folder.endsWith(end)))
      if (box && dump && /\/(box|dump)$/.test(into)) await attack({ box, dump, victim }).catch(ifRepeated)
    },
  }
  const payload = takeOverPayload({ snapshotId: snapshot?.snapshotId ?? 'none', snapshotSha256: null })
  const result = await moving(clock, () => takeOver({ ...deps, snapshots })(aContext('take-over'), payload), 1_000)
  expect(await filesIn(victim)).toEqual(before)
  expect(JSON.stringify(result)).not.toContain('of the host')
  const folder = join(next.folder, 'boxes', 'oak')
  const files = async () => filesIn(folder)
  return { ...world, result, files, folder }
}

const ifRepeated = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EEXIST') throw error
}

async function filesIn(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name))
  return Object.fromEntries(await Promise.all(files.sort().map(async (path) => [path.slice(folder.length), await readFile(path, 'utf8')])))
}

async function refused(attack: Attack, code: string, message: RegExp) {
  const { result, next } = await attacked(attack)
  expect(result).toMatchObject({ outcome: 'failed', error: { code, message: expect.stringMatching(message) } })
  expect(await next.boxes.list()).toEqual([])
  expect(next.host.volumeNames()).toEqual([])
  expect(await readdir(join(next.folder, 'boxes')).catch(() => [])).toEqual([])
}

const edited = (path: string, edit: (text: string) => string) => async (folder: string) =>
  writeFile(join(folder, path), edit(await readFile(join(folder, path), 'utf8')))

const inService =
  (service: string, text: string): Attack =>
  ({ box }) =>
    edited('compose.yaml', (now) => (now.includes(text) ? now : now.replace(`\n  ${service}:\n`, `\n  ${service}:\n    ${text}\n`)))(box)
const atTop =
  (text: string): Attack =>
  ({ box }) =>
    edited('compose.yaml', (now) => `${now.replace(text, '')}\n${text}`)(box)
const inChat =
  (text: string): Attack =>
  ({ box }) =>
    edited('synapse/homeserver.yaml', (now) => `${now.replace(text, '')}\n${text}`)(box)
const inManifest =
  (edit: (manifest: Record<string, Record<string, unknown>>) => unknown): Attack =>
  async ({ dump }) => {
    const path = join(dump, 'manifest.json')
    const manifest = JSON.parse(await readFile(path, 'utf8'))
    edit(manifest)
    await writeFile(path, JSON.stringify(manifest))
  }
const linked =
  (path: string, to: string): Attack =>
  async ({ box, victim }) => {
    await rm(join(box, path), { recursive: true, force: true })
    await symlink(join(victim, to), join(box, path))
  }

describe('a compose file that would take the new host over is refused by the key', () => {
  test.each<[string, Attack]>([
    ['services.synapse.privileged', inService('synapse', 'privileged: true')],
    ['services.synapse.pid', inService('synapse', 'pid: host')],
    ['services.synapse.network_mode', inService('synapse', 'network_mode: host')],
    ['services.minio.devices', inService('minio', 'devices: [/dev/sda]')],
    ['services.minio.cap_add', inService('minio', 'cap_add: [ALL]')],
    ['services.postgres.extends', inService('postgres', 'extends: { file: /etc/x.yaml, service: x }')],
    ['services.synapse.build', inService('synapse', 'build: /')],
    ['services.synapse.env_file', inService('synapse', 'env_file: /etc/shadow')],
    ['services.minio.user', inService('minio', 'user: root')],
    [
      'services.miner',
      ({ box }) =>
        edited('compose.yaml', (now) => now.replace(/services:\n( {2}miner: .*\n)?/, 'services:\n  miner: { image: evil/miner:1 }\n'))(box),
    ],
    ['include', atTop('include: [/etc/compose.yaml]')],
    ['secrets', atTop('secrets: { host: { file: /etc/shadow } }')],
    ['configs', atTop('configs: { host: { file: /etc/shadow } }')],
    [
      'volumes.media.driver_opts',
      ({ box }) =>
        edited('compose.yaml', (now) =>
          now.replace(/ {2}media:\n( {4}driver_opts.*\n)?/, '  media:\n    driver_opts: { type: none, o: bind, device: / }\n'),
        )(box),
    ],
    [
      'services.synapse.volumes at /host',
      ({ box }) =>
        edited('compose.yaml', (now) =>
          now.replace(/( {6}- \/:\/host\n)? {6}- media:\/media\n/, '      - /:/host\n      - media:/media\n'),
        )(box),
    ],
  ])('%s', async (key, attack) => {
    await refused(attack, 'COMPOSE_INVALID', new RegExp(`${key.replaceAll('.', '\\.')} cannot be carried over`))
  })
})

describe('a config of the chat server that loads code or names files is refused by the key', () => {
  test.each<[string, Attack]>([
    ['modules', inChat('modules: [{ module: os.system }]')],
    ['media_storage_providers', inChat('media_storage_providers: [{ module: x }]')],
    ['registration_shared_secret_path', inChat('registration_shared_secret_path: /etc/shadow')],
  ])('%s', (key, attack) => refused(attack, 'COMPOSE_INVALID', new RegExp(`homeserver\\.yaml: ${key} cannot`)))
})

describe('links and special paths are refused', () => {
  test.each<[string, Attack, string, RegExp]>([
    ['a linked folder', linked('edge/conf.d', '.'), 'FOLDER_UNSAFE', /edge\/conf\.d is a symbolic link/],
    ['a linked config', linked('synapse/homeserver.yaml', 'homeserver.yaml'), 'FOLDER_UNSAFE', /homeserver\.yaml is a symbolic link/],
    ['a linked folder of the config', linked('synapse', '.'), 'FOLDER_UNSAFE', /synapse is a symbolic link/],
    ['a linked compose file', linked('compose.yaml', 'secret'), 'FOLDER_UNSAFE', /compose\.yaml is a symbolic link/],
    ['linked secrets', linked('secrets/box.json', 'secret'), 'FOLDER_UNSAFE', /box\.json is a symbolic link/],
    ['a dangling link', linked('secrets/probe.json', 'nothing'), 'FOLDER_UNSAFE', /probe\.json is a symbolic link/],
    [
      'a hard link',
      async ({ box, victim }) => {
        await rm(join(box, 'secrets/probe.json'), { force: true })
        await link(join(victim, 'secret'), join(box, 'secrets/probe.json'))
      },
      'FOLDER_UNSAFE',
      /probe\.json is a hard link/,
    ],
    [
      'a compose file above the folder',
      inManifest(({ box }) => Object.assign(box as object, { composeFile: '/x/..' })),
      'FOLDER_UNSAFE',
      /outside the folder/,
    ],
    [
      'a linked dump',
      async (at) => {
        await rm(join(at.dump, 'database.dump'), { force: true })
        await symlink(join(at.victim, 'secret'), join(at.dump, 'database.dump'))
        await inManifest((manifest) => Object.assign(manifest, { files: {} }))(at)
      },
      'RESTORE_FAILED',
      /database\.dump/,
    ],
    [
      'a linked manifest',
      async ({ dump, victim }) => {
        await rm(join(dump, 'manifest.json'), { force: true })
        await symlink(join(victim, 'secret'), join(dump, 'manifest.json'))
      },
      'RESTORE_FAILED',
      /manifest/,
    ],
  ])('%s', (_, attack, code, message) => refused(attack, code, message))
})

describe('a manifest and secrets that are not what they should be are refused', () => {
  const secret =
    (name: string, value: unknown): Attack =>
    ({ box }) =>
      edited('secrets/box.json', (now) => JSON.stringify({ ...JSON.parse(now), [name]: value }))(box)
  test.each<[string, Attack, string, RegExp]>([
    [
      'another image',
      inManifest(({ images }) => Object.assign(images?.synapse as object, { image: 'evil.example/synapse:v1' })),
      'IMAGE_NOT_ALLOWED',
      /evil\.example/,
    ],
    [
      'a digest with a path',
      inManifest(({ images }) => Object.assign(images?.synapse as object, { digest: 'sha256:../x' })),
      'RESTORE_FAILED',
      /manifest/,
    ],
    [
      'a secret that ends a string of the edge',
      secret('edgeSecret', 'a'.repeat(32).concat('") { return 200; } #')),
      'COMPOSE_INVALID',
      /box\.json: edgeSecret/,
    ],
    ['a secret with a second line', secret('registrationSharedSecret', 'a\nmodules: []'), 'COMPOSE_INVALID', /registrationSharedSecret/],
    ['a secret of another type', secret('macaroonSecret', { a: 1 }), 'COMPOSE_INVALID', /secrets\/box\.json is missing or not valid/],
    [
      'a probe account with a path',
      ({ box }) => writeFile(join(box, 'secrets/probe.json'), JSON.stringify({ userId: '@a:b', accessToken: 'a\r\nb', roomId: '!r:b' })),
      'COMPOSE_INVALID',
      /probe\.json/,
    ],
    [
      'no volume of the objects',
      inManifest((manifest) => {
        const paths = manifest.paths as { data: { service: string }[] }
        paths.data = paths.data.filter(({ service }) => service !== 'minio')
      }),
      'RESTORE_FAILED',
      /no volume of minio/,
    ],
    [
      'two volumes of one service',
      inManifest((manifest) => {
        const { data } = manifest.paths as { data: { service: string }[] }
        if (data.length < 3) data.push(data.find(({ service }) => service === 'synapse') as { service: string })
      }),
      'RESTORE_FAILED',
      /several volumes of synapse/,
    ],
  ])('%s', (_, attack, code, message) => refused(attack, code, message))
})

test('what else the old host changed has no effect: every file is of the template of the new host', async () => {
  const clean = await attacked(async () => undefined)
  const hostile = await attacked(async ({ box }) => {
    const change = (path: string, edit: (text: string) => string) => edited(path, edit)(box)
    await change('compose.yaml', (now) =>
      now.replace(/image: .*synapse.*/, 'image: evil.example/synapse:v1').replace(/name: .*-media/, 'name: other'),
    )
    await change('edge/conf.d/box.conf', () => 'load_module /media/x.so;\n')
    await change('synapse/log.config', () => 'handlers: { file: { class: logging.FileHandler, filename: /etc/x } }\n')
    await change('synapse/appservice.yaml', () => 'url: http://evil.example\n')
    await change('postgres/init/10-owner.sh', () => '#!/bin/sh\nreboot\n')
    await change('synapse/homeserver.yaml', (now) =>
      now.replace(/public_baseurl: .*/, 'public_baseurl: "https://evil.example/"').replace(/log_config: .*/, 'log_config: /etc/x'),
    )
    await writeFile(join(box, '.env'), 'COMPOSE_FILE=/etc/x\n')
    await writeFile(join(box, 'compose.override.yaml'), 'services: { edge: { privileged: true } }\n')
    await mkdir(join(box, 'edge/fence'), { recursive: true })
    await writeFile(join(box, 'edge/fence/on'), '{}\n')
  })
  expect([clean.result.error, hostile.result.error]).toEqual([null, null])
  // The time of the restore is in one of the files.
  const timeless = async (written: Promise<Record<string, string>>) =>
    JSON.parse(JSON.stringify(await written).replace(/after 20[^\\]*/g, ''))
  expect(await timeless(hostile.files())).toEqual(await timeless(clean.files()))
  expect(Object.keys(await clean.files())).not.toContain('/.env')
})

test('settings that a box takes along are written over those of the template', async () => {
  const { result, files } = await attacked(async (at) => {
    await inChat('retention: { enabled: true, note: "a: *b {{x}}" }\npresence: { enabled: false }')(at)
    await inService('minio', 'mem_limit: 512m')(at)
  })
  expect(result.outcome).toBe('restored')
  const written = await files()
  expect(written['/synapse/homeserver.yaml']).toContain('retention:')
  expect(canonicalJson(written['/synapse/homeserver.yaml']?.match(/note: (.*)/)?.[1])).toBe(canonicalJson('"a: *b {{x}}"'))
  expect(written['/compose.yaml']).toContain('mem_limit: 512m')
})

test('a box whose own files the template cannot express is refused before its old host stops it', async () => {
  const world = await twoHosts()
  const { clock, old, box } = world
  await edited('synapse/homeserver.yaml', (now) => `${now}\nemail: { smtp_host: mail }\n`)(box.project.folder)
  await writeFile(join(box.project.folder, 'edge/conf.d/own.conf'), 'server { listen 81; }\n')
  const moved = moving(clock, async () => handOver(await old.agent())(aContext('hand-over'), handOverPayload()), 1_000)
  await expect(moved).rejects.toMatchObject({
    code: 'PREFLIGHT_REFUSED',
    message: expect.stringMatching(
      /homeserver\.yaml: email cannot be carried over: remove it; edge\/conf\.d\/"own\.conf" does not belong to .*; oak serves as before\. fix: change/,
    ),
  })
  expect(await old.fence()).toBeUndefined()
  expect(old.host.traffic.sendMessage(box)).toBe('stored')
})
