import { chmod, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CompletionDeps, complete } from '../../../src/agent/adoption/index.ts'
import { localBoxes } from '../../../src/agent/boxes/index.ts'
import { type FileStore, memoryLocks, memoryStore, onceOnly, openJournal } from '../../../src/agent/journal/index.ts'
import type { CommandContext, LocalBox } from '../../../src/agent/ports/index.ts'
import { seededRandom } from '../../../src/agent/simulated/index.ts'
import type { BoxCommandPayload, CommandOutputs } from '../../../src/core/boxes/index.ts'
import { templateFolder } from '../boxes/provisioning.ts'
import { aHost, images, moving } from '../simulated/boxes.ts'

/** As somebody writes it who knows compose and has a proxy before the stack. */
export const handMade = `# Our chat. Ask Ben before you touch it.
services:
  synapse:
    image: registry.test/tenantry/synapse:\${SYNAPSE_TAG}   # see .env
    restart: always
    ports: ["127.0.0.1:8008:8008"]
    volumes:
      - ./synapse:/data
      - media:/media
  postgres:
    image: ${images.postgres}
    environment:
      - POSTGRES_USER=synapse
      - POSTGRES_PASSWORD=correct-horse-battery
    volumes:
      - db:/var/lib/postgresql/data
  minio:
    image: ${images.minio}
    command: server /data
    environment: { MINIO_ROOT_USER: school, MINIO_ROOT_PASSWORD: staple-9-staple }
    volumes: [objects:/data]
volumes:
  db:
  media:
  objects:
`

export const homeserver = `# Written by hand, with care.
server_name: "chat.elm.example"
listeners:
  - port: 8008
    tls: false
    type: http
    bind_addresses: ['::']
    resources:
      - names: [client, federation]
        compress: false
database:
  name: psycopg2
  args: { user: synapse, password: correct-horse-battery, dbname: synapse, host: postgres }
media_store_path: /media
signing_key_path: /data/signing.key
macaroon_secret_key: "our-macaroons-are-secret"
# registration is off
enable_registration: false
`

const printenv: Readonly<Record<string, string>> = {
  synapse: 'PATH=/bin\n',
  postgres: 'POSTGRES_USER=synapse\nPOSTGRES_PASSWORD=correct-horse-battery\nPGDATA=/var/lib/postgresql/data\n',
  minio: 'MINIO_ROOT_USER=school\nMINIO_ROOT_PASSWORD=staple-9-staple\n',
}

type Options = Readonly<{
  compose?: string
  homeserver?: string
  more?: Readonly<Record<string, string>>
  env?: Readonly<Record<string, string>>
}>

/** A stack that runs, set up by hand and adopted; the agent over it can be started again and again. */
export async function aStack(options: Options = {}) {
  const env = { ...printenv, ...options.env }
  const host = await aHost({
    execScript: ({ service }, argv) => ({ exitCode: 0, stdout: argv[0] === 'printenv' ? (env[service] ?? '') : '', stderr: '' }),
  })
  const folder = join(await realpath(host.folder), 'by-hand')
  const composeFile = join(folder, 'docker-compose.yml')
  const files = {
    'docker-compose.yml': options.compose ?? handMade,
    '.env': 'SYNAPSE_TAG=v1.157.1\n',
    'synapse/homeserver.yaml': options.homeserver ?? homeserver,
    'synapse/signing.key': 'ed25519 a_keys c2VlZC1vZi10aGUtc2lnbmluZy1rZXktMzItYnl0ZXM\n',
    ...options.more,
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true, mode: 0o700 })
    await writeFile(join(folder, path), text, { mode: 0o600 })
  }
  await chmod(folder, 0o700)
  const box: LocalBox = {
    slug: 'elm',
    boxId: 'box_elm',
    ownershipEpoch: 1,
    managed: false,
    chatDomain: 'unknown',
    project: { name: 'elm', folder, composeFile, envFile: join(folder, '.env') },
    ports: null,
    migrationsHead: '0000',
  }
  const boxes = localBoxes(join(host.folder, 'state'))
  await boxes.put(box)
  await moving(host.clock, async () => {
    for (const image of [...Object.values(images), 'registry.test/tenantry/minio:latest']) await host.engine.pull(image, {})
    const services = (['postgres', 'minio', 'synapse', 'edge'] as const).filter((service) =>
      new RegExp(`^  ${service}:`, 'm').test(files['docker-compose.yml']),
    )
    await host.engine.up(box.project, services)
  })
  await host.clock.advance(60_000)
  // A service without a data volume is unhealthy, and some stacks here have none.
  await moving(host.clock, () => host.servers.probe(box)).catch(() => undefined)

  const fileStore = memoryStore()
  const agent = async (
    around: (deps: CompletionDeps) => CompletionDeps = (same) => same,
    files: FileStore = fileStore,
  ): Promise<CompletionDeps> => {
    const journal = await openJournal({ store: files, clock: host.clock })
    return around({
      engine: host.engine,
      servers: host.servers,
      boxes,
      journal,
      once: onceOnly({ journal, locks: memoryLocks() }),
      clock: host.clock,
      random: seededRandom('an agent'),
      stateFolder: join(host.folder, 'state'),
      portInUse: async () => false,
      settings: {
        boxesFolder: join(host.folder, 'boxes'),
        templateFolder,
        allowedImages: ['registry.test/tenantry/*'],
        binds: { public: '127.0.0.1', platform: '127.0.0.1' },
        maxUploadMegabytes: 50,
      },
    })
  }
  const run = async (payload: Payload = aCompletion(), deps?: CompletionDeps, context = aContext().context) => {
    const own = deps ?? (await agent())
    return moving(host.clock, () => complete(own)(context, payload), 5_000)
  }
  /** Looks, and gives what was seen back as the order. */
  const seen = async (change: Partial<Payload> = {}) => aCompletion({ expected: (await run(aCompletion(change))).diffSha256, ...change })
  const text = (path: string) => readFile(join(folder, path), 'utf8')
  return { host, box, boxes, folder, fileStore, agent, run, seen, text, all: () => everyFile(folder) }
}

type Payload = BoxCommandPayload<'tenant-box.complete'>

export const aCompletion = (change: Partial<Payload> = {}): Payload => ({
  slug: 'elm',
  boxId: 'box_elm',
  ownershipEpoch: 1,
  chatDomain: 'chat.elm.example',
  publicUrl: 'https://chat.elm.example',
  ports: { public: 8008, platform: 18_002, probe: 18_003 },
  edgeImage: images.edge,
  probe: { consecutive: 3, spacingMs: 60_000, timeoutMs: 1_800_000 },
  expected: null,
  ...change,
})

export function aContext(change: Partial<CommandContext> = {}) {
  const delivered: CommandOutputs[] = []
  const context: CommandContext = {
    commandId: 'adopt.box_elm.1.complete',
    signal: new AbortController().signal,
    progress: () => undefined,
    secrets: async () => ({}),
    migrations: async () => [],
    deliver: async (outputs) => void delivered.push(outputs),
    sendLines: async () => 'ended',
    ...change,
  }
  return { context, delivered }
}

/** Every file of a folder with its text, without the backups beside them. */
async function everyFile(folder: string): Promise<Record<string, string>> {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name)).filter((path) => !path.includes('.adopt.box_elm'))
  return Object.fromEntries(
    await Promise.all(paths.sort().map(async (path) => [path.slice(folder.length + 1), await readFile(path, 'utf8')] as const)),
  )
}
