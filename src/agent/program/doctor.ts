import { readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { execa } from 'execa'
import { type ExitCode, isProblem, type Problem, printable } from '../../core/kit/index.ts'
import { type Check, doubtful, failing, tellChecks, well } from '../../node/command-line.ts'
import { readFence, type StandingFence } from '../boxes/index.ts'
import { type AgentIdentity, connect } from '../channel/index.ts'
import { damagedFolder } from '../journal/index.ts'
import type { LocalBox } from '../ports/index.ts'
import { readIdentity } from './enrolment-file.ts'
import { type LocalHost, localHost } from './local-host.ts'
import { type AgentSettings, type Globals, type Machine, settingsFileOf, settingsOf } from './settings.ts'

/** Looks at everything the agent stands on and changes nothing. Exit code 1 when something would keep it from working. */
export async function doctor(machine: Machine, options: Globals): Promise<ExitCode> {
  return tellChecks(machine, options, await allChecks(machine, options), 14)
}

async function allChecks(machine: Machine, options: Globals): Promise<Check[]> {
  let settings: AgentSettings
  try {
    settings = settingsOf(machine, options)
  } catch (error) {
    return [failing('settings', asProblem(error).message, 'correct the file, or unset the variable')]
  }
  const host = localHost(machine, settings)
  const { identity, check: enrolled } = await enrolment(settings)
  const looks = [
    stateFolder(settings),
    ...engine(host, settings),
    damaged(host),
    boxes(host),
    restic(host),
    fileLocking(),
    images(settings),
    space('disk (boxes)', settings.boxesDir),
    space('disk (state)', settings.stateDir),
  ]
  return [
    well('settings', settingsFileOf(machine, options) ?? 'from the environment and defaults'),
    ...(await Promise.all(looks)).flat(),
    enrolled,
    ...(identity ? [await daemon(machine, identity)] : []),
  ]
}

/** What is expected to go wrong says how to mend it; anything else is a fault of ours and stays an exception. */
function asProblem(error: unknown): Problem {
  if (isProblem(error)) return error
  throw error
}

const modeOf = async (path: string): Promise<number | undefined> => (await stat(path).catch(() => undefined))?.mode

async function stateFolder({ stateDir }: AgentSettings): Promise<Check> {
  const [name, mode] = ['state folder', await modeOf(stateDir)]
  if (mode === undefined) return well(name, `${resolve(stateDir)} will be made by enrol`)
  if ((mode & 0o170000) !== 0o040000) return failing(name, `${stateDir} is no folder`, 'set TENANTRY_AGENT_STATE_DIR to a folder')
  if ((mode & 0o077) !== 0) return failing(name, `${stateDir} holds the agent's key and others can enter it`, `chmod 700 ${stateDir}`)
  return well(name, resolve(stateDir))
}

const engine = ({ engine }: LocalHost, { dockerHost }: AgentSettings): Promise<Check[]>[] => [
  engine.info().then(
    (info) => [well('engine', `${info.engine} at ${dockerHost}`), well('compose', info.compose)],
    (error) => [
      failing(
        'engine',
        `${asProblem(error).message} (${dockerHost})`,
        'start the engine, install its compose plugin (v2), and give this user the right to use the socket',
      ),
    ],
  ),
]

/** Without it no command can take its box. */
const fileLocking = (): Promise<Check> =>
  execa('flock', ['--version'], { reject: false, timeout: 5_000 }).then(({ failed }) =>
    failed
      ? failing('flock', 'the program flock is missing, so no command can take its box', 'install util-linux')
      : well('flock', 'is here'),
  )

/** What an agent set aside because it could not be read: its box may be fenced and stopped. */
async function damaged(host: LocalHost): Promise<Check[]> {
  const { owner } = host
  const folders = ['journal', 'commands'].map((name) => damagedFolder(join(owner, name)))
  const files = await Promise.all(folders.map(async (folder) => (await namesIn(folder)).map((name) => join(folder, name))))
  return [
    ...files
      .flat()
      .map((path) =>
        failing(
          'damaged file',
          `${path} could not be read`,
          'look at the box that it names, its fence and its containers; then remove the file',
        ),
      ),
    ...(await unreadableBoxes(host)).map((slug) =>
      failing(
        'damaged file',
        `the record of the box ${slug} in ${join(owner, 'boxes')} cannot be read`,
        'move it away and adopt the box again',
      ),
    ),
  ]
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])

// Before enrolment there is no folder, and looking must not make one.
const unreadableBoxes = async ({ owner, boxes }: LocalHost) =>
  (await modeOf(join(owner, 'boxes'))) === undefined ? [] : boxes.unreadable()

async function boxes({ owner, boxes, engine }: LocalHost): Promise<Check[]> {
  if ((await modeOf(join(owner, 'boxes'))) === undefined) return []
  return Promise.all((await boxes.list()).map((box) => lookAt(engine, box)))
}

/** A fence says by whose update it was raised; a box whose update is over must not have one. */
async function lookAt(engine: LocalHost['engine'], box: LocalBox): Promise<Check> {
  const name = `box ${box.slug}`
  const containers = await engine.containers(box.project).catch(() => undefined)
  if (!containers) return doubtful(name, 'cannot be looked at', 'see what is said of the engine')
  const down = containers.filter(({ state }) => state !== 'running').map(({ service, state }) => `${service} ${state}`)
  const fence = await readFence(box.project).catch(() => undefined)
  const stands = [`${containers.length - down.length} of ${containers.length} containers run`, ...down].join(', ')
  if (fence) return fenced(box, fence, stands)
  return down.length === 0
    ? well(name, stands)
    : doubtful(
        name,
        stands,
        `tenantry-agent box show ${box.slug}; then docker logs of what is down, docker compose up -d for what is missing`,
      )
}

const fenced = ({ slug }: LocalBox, { holder, since, reason }: StandingFence, stands: string): Check =>
  doubtful(
    `box ${slug}`,
    `is closed by ${printable(holder)} since ${printable(since ?? 'nobody knows when')}${reason ? ` (${printable(reason)})` : ''}; ${stands}`,
    holder === 'maintenance'
      ? `tenantry-agent box maintenance off ${slug}, once the work is done`
      : `an update in progress lifts it by itself; after a failed way back see its rollout action, then tenantry-agent box unfence ${slug}`,
  )

const restic = ({ snapshots }: LocalHost): Promise<Check> =>
  snapshots.version().then(
    (version) => well('restic', version),
    (error) =>
      failing(
        'restic',
        asProblem(error).message,
        'no box is updated without a snapshot: install it, or set TENANTRY_AGENT_RESTIC to its path',
      ),
  )

const images = async ({ images }: AgentSettings): Promise<Check> =>
  images.length > 0
    ? well('images', images.join(', '))
    : doubtful(
        'images',
        'this host may run no image, so boxes are neither provisioned nor updated',
        'list repositories under `images` in the settings, or in TENANTRY_AGENT_IMAGES',
      )

const gigabyte = 1024 ** 3

async function space(name: string, folder: string): Promise<Check> {
  const { bavail, bsize } = await statfs(await firstThere(resolve(folder)))
  const free = (bavail * bsize) / gigabyte
  const says = `${free.toFixed(1)} GB free at ${resolve(folder)}`
  const mend = 'free some space: an update needs room for images, a dump and a second database'
  if (free < 1) return failing(name, says, mend)
  return free < 5 ? doubtful(name, says, mend) : well(name, says)
}

const firstThere = async (path: string): Promise<string> => ((await modeOf(path)) === undefined ? firstThere(dirname(path)) : path)

async function enrolment({ stateDir }: AgentSettings): Promise<{ identity?: AgentIdentity; check: Check }> {
  const name = 'enrolment'
  try {
    const identity = await readIdentity(stateDir)
    if (identity) return { identity, check: well(name, `${identity.name} at ${identity.daemonUrl}`) }
    return {
      check: failing(
        name,
        'this agent is not enrolled',
        '`tenantry hosts invite`, then `tenantry-agent enrol --url <daemon> --token-file <file>`',
      ),
    }
  } catch (error) {
    return { check: failing(name, asProblem(error).message, 'then look again') }
  }
}

const mends: Readonly<Record<string, string>> = {
  UNREACHABLE: 'see whether tenantryd runs and whether this host reaches its address',
  CLOCK_SKEW: 'set the clock of this host: timedatectl set-ntp true',
}

/**
 * A signed call that changes nothing. Under an instance id that never said hello the daemon answers CONFLICT once it has believed key and
 * clock; hello itself would retire the agent that runs, and look like a second one.
 */
async function daemon({ clock, random }: Machine, identity: AgentIdentity): Promise<Check> {
  const name = 'daemon'
  const answered = well(name, `${identity.daemonUrl} knows this host; the clocks agree`)
  try {
    await connect({ clock, random, identity }).heartbeat({ body: { holding: [] } })
    return answered
  } catch (error) {
    const { code, message } = asProblem(error)
    if (code === 'CONFLICT') return answered
    return failing(
      code === 'CLOCK_SKEW' ? 'clock' : name,
      message,
      mends[code] ?? 'enrol this host anew: `tenantry hosts invite`, then `tenantry-agent enrol --anew`',
    )
  }
}
