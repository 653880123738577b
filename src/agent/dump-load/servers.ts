import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Clock, problem, type Random, randomText } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import { waitUntil } from '../boxes/index.ts'
import type { BoxServers, ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'

export type Environment = Readonly<Record<string, string>>

/** The variables of these names that a container has. Ask for none that is a secret. */
export async function environmentOf(engine: ContainerEngine, { id }: ContainerState, variables: readonly string[]): Promise<Environment> {
  const read = async (name: string) => {
    const { exitCode, stdout } = await engine.exec(id, ['printenv', name])
    return exitCode === 0 ? [[name, stdout.trim()]] : []
  }
  return Object.fromEntries((await Promise.all(variables.map(read))).flat())
}

/** `volume` is there already, and is mounted at `target`. */
type Server = Readonly<{
  image: string
  environment: Environment
  network: string
  volume: string
  target: string
  command?: readonly string[]
}>

const volumeKey = 'data'

/** JSON is YAML in which every text is quoted. */
const serverText = (name: string, { image, environment, network, volume, target, command }: Server): string =>
  JSON.stringify({
    name,
    services: {
      postgres: {
        ...{ image, environment, network_mode: network, stop_signal: 'SIGINT', stop_grace_period: '2m', shm_size: '256m', restart: 'no' },
        ...(command ? { command } : {}),
        healthcheck: { disable: true },
        volumes: [{ type: 'volume', source: volumeKey, target }],
      },
    },
    volumes: { [volumeKey]: { name: volume, external: true } },
  })

/** The port of the new server, and of all programs in its container: the former one has the default, on the same loopback. */
const nextPort = '5433'
/** Neither the place of the data in the images before PostgreSQL 18 nor that of the later ones. */
const nextFolder = '/tenantry-upgrade'

type Starting = Readonly<{
  deps: Readonly<{ engine: ContainerEngine; servers: BoxServers; clock: Clock; random: Random }>
  signal: AbortSignal
}>

/** `inside`: the data folder in the volume. `environment`: variables of the box that decide about a new cluster. */
type Next = Pick<Server, 'image' | 'network' | 'volume'> & Readonly<{ superuser: string; inside: string; environment?: Environment }>

/** An empty cluster of the new version. The database brings its own encoding and collation, the superuser its password. */
export const startNext = (
  run: Starting,
  box: LocalBox,
  { superuser, inside, environment = {}, ...server }: Next,
): Promise<ContainerState> =>
  startServer(run, box, {
    ...server,
    target: nextFolder,
    environment: {
      ...{ POSTGRES_INITDB_ARGS: '--encoding=UTF8 --locale=C', ...environment },
      ...{ POSTGRES_USER: superuser, POSTGRES_DB: 'postgres', POSTGRES_PASSWORD: randomText(run.deps.random, 32) },
      ...{ PGDATA: join(nextFolder, inside), PGPORT: nextPort },
    },
  })

const timeoutMs = 6 * 60 * 60_000

/** Starts a server of the project of `box`, which has nothing else, and waits until it answers. Throws BOX_UNHEALTHY. */
export async function startServer({ deps, signal }: Starting, box: LocalBox, server: Server): Promise<ContainerState> {
  const { engine, servers, clock } = deps
  const { composeFile, name } = box.project
  await mkdir(dirname(composeFile), { recursive: true, mode: 0o700 })
  await writeFileAtomic(composeFile, serverText(name, server))
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
