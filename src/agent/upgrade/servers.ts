import { mkdir } from 'node:fs/promises'
import { problem, randomText } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import { waitUntil } from '../boxes/index.ts'
import type { ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'
import type { UpgradeRun } from './upgrade-run.ts'

/** Variables by which the image finds its data, and the agent its role and database. None is a secret. */
const variables = ['PGDATA', 'POSTGRES_USER', 'POSTGRES_DB', 'TENANTRY_DATABASE'] as const

type Environment = Readonly<Record<string, string>>

export async function environmentOf(engine: ContainerEngine, { id }: ContainerState): Promise<Environment> {
  const read = async (name: string) => {
    const { exitCode, stdout } = await engine.exec(id, ['printenv', name])
    return exitCode === 0 ? [[name, stdout.trim()]] : []
  }
  return Object.fromEntries((await Promise.all(variables.map(read))).flat())
}

/** Only volumes can be read by an agent, and only one that compose named. */
export const volumeKey = 'data'
export const volumeOf = ({ project }: LocalBox): string => `${project.name}-${volumeKey}`

type Server = Readonly<{ image: string; environment: Environment; network: string; target: string; command?: readonly string[] }>

/** JSON is YAML in which every text is quoted. */
const serverText = (box: LocalBox, { image, environment, network, target, command }: Server): string =>
  JSON.stringify({
    name: box.project.name,
    services: {
      postgres: {
        ...{ image, environment, network_mode: network, stop_signal: 'SIGINT', stop_grace_period: '2m', shm_size: '256m', restart: 'no' },
        ...(command ? { command } : {}),
        healthcheck: { disable: true },
        volumes: [{ type: 'volume', source: volumeKey, target }],
      },
    },
    volumes: { [volumeKey]: { name: volumeOf(box), external: true } },
  })

/** The port of the new server, and of all programs in its container: the former one has the default, on the same loopback. */
const nextPort = '5433'
/** Neither the place of the data in the images before PostgreSQL 18 nor that of the later ones. */
const nextFolder = '/tenantry-upgrade'

/** An empty cluster of the new version. The database brings its own encoding and collation. */
export const startNext = (run: UpgradeRun, superuser: string): Promise<ContainerState> =>
  start(run, run.next, {
    image: run.payload.image,
    network: 'none',
    target: nextFolder,
    environment: {
      ...{ POSTGRES_USER: superuser, POSTGRES_DB: 'postgres', POSTGRES_PASSWORD: randomText(run.deps.random, 32) },
      ...{ POSTGRES_INITDB_ARGS: '--encoding=UTF8 --locale=C', PGDATA: `${nextFolder}/data`, PGPORT: nextPort },
    },
  })

type Former = Readonly<{ image: string; environment: Environment; target: string; next: ContainerState }>

/** It archives nothing and waits for no standby. The new server reaches it by the loopback that both have. */
export const startFormer = (run: UpgradeRun, { next, ...former }: Former): Promise<ContainerState> =>
  start(run, run.former, {
    ...former,
    network: `container:${next.id}`,
    command: ['postgres', '-c', 'archive_mode=off', '-c', 'synchronous_standby_names=', '-c', 'port=5432'],
  })

const timeoutMs = 6 * 60 * 60_000

async function start({ deps, folder, signal }: UpgradeRun, box: LocalBox, server: Server): Promise<ContainerState> {
  const { engine, servers, clock } = deps
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await engine.createVolume(box.project, volumeKey, volumeOf(box))
  await writeFileAtomic(box.project.composeFile, serverText(box, server))
  await engine.up(box.project, ['postgres'], signal)
  let container: ContainerState | undefined
  const isReady = async () => {
    container = (await engine.containers(box.project)).find(({ service }) => service === 'postgres')
    if (container?.state === 'exited' || container?.state === 'restarting')
      throw problem('BOX_UNHEALTHY', await whyExited(engine, container))
    return servers.databaseReady(box).catch(() => false)
  }
  if ((await waitUntil({ clock, everyMs: 500, timeoutMs, signal }, isReady)) && container) return container
  throw problem('BOX_UNHEALTHY', `PostgreSQL of ${server.image} accepted no connection within six hours`)
}

async function whyExited(engine: ContainerEngine, { id, image, exitCode }: ContainerState): Promise<string> {
  const said = (await engine.logs(id, 100)).trim().split('\n')
  const line = said.findLast((one) => /FATAL|PANIC|ERROR/i.test(one)) ?? said.at(-1) ?? ''
  return `PostgreSQL of ${image} exited at its start (exit code ${exitCode ?? 'unknown'}): ${line.slice(0, 300)}`
}
