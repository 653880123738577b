import { readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { execa } from 'execa'
import { type ExitCode, isProblem, type Problem, printable } from '../../core/kit/index.ts'
import { type Check, failed, passed, printChecks, warning } from '../../node/command-line.ts'
import { type Fence, readFence } from '../boxes/index.ts'
import { type AgentIdentity, connect } from '../channel/index.ts'
import { damagedFolder } from '../journal/index.ts'
import type { LocalBox } from '../ports/index.ts'
import { isRotationOpen, readIdentity } from './enrolment-file.ts'
import { type LocalHost, localHost } from './local-host.ts'
import { type AgentSettings, type Globals, type Machine, settingsFileOf, settingsOf } from './settings.ts'

/** Checks all dependencies of the agent, read-only. Exit code 1 when a check fails. */
export async function doctor(machine: Machine, options: Globals): Promise<ExitCode> {
  return printChecks(machine, options, { checks: await allChecks(machine, options), nameColumns: 14 })
}

async function allChecks(machine: Machine, options: Globals): Promise<Check[]> {
  let settings: AgentSettings
  try {
    settings = settingsOf(machine, options)
  } catch (error) {
    return [failed('settings', asProblem(error).message, 'correct the settings file, or unset the variable')]
  }
  const host = localHost({ ...machine, engineRetryMs: 0 }, settings)
  const { identity, check: enrolled } = await enrolment(settings)
  const checks = [
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
    passed('settings', settingsFileOf(machine, options) ?? 'from the environment and defaults'),
    ...(await Promise.all(checks)).flat(),
    enrolled,
    ...(identity ? [await daemon(machine, settings, identity)] : []),
  ]
}

/** Rethrows anything but an expected failure. */
function asProblem(error: unknown): Problem {
  if (isProblem(error)) return error
  throw error
}

/** Shows the fix of the check instead of the fix of the problem. */
const failedBy = (name: string, error: unknown, fix: string): Check =>
  failed(name, asProblem(error).message.replace(/\.? fix: .*$/s, ''), fix)

const modeOf = async (path: string): Promise<number | undefined> => (await stat(path).catch(() => undefined))?.mode

async function stateFolder({ stateDir }: AgentSettings): Promise<Check> {
  const [name, mode] = ['state folder', await modeOf(stateDir)]
  if (mode === undefined) return passed(name, `${resolve(stateDir)} does not exist yet; enrol creates it`)
  if ((mode & 0o170000) !== 0o040000) return failed(name, `${stateDir} is not a folder`, 'set TENANTRY_AGENT_STATE_DIR to a folder')
  if ((mode & 0o077) !== 0) return failed(name, `${stateDir} contains the agent's key and is accessible to others`, `chmod 700 ${stateDir}`)
  return passed(name, resolve(stateDir))
}

const engine = ({ engine }: LocalHost, { dockerHost }: AgentSettings): Promise<Check[]>[] => [
  engine.info().then(
    (info) => [passed('engine', `${info.engine} at ${dockerHost}`), passed('compose', info.compose)],
    (error) => [
      failedBy(
        'engine',
        error,
        `start the engine at ${dockerHost}, install its compose plugin (v2 or newer), and give this user access to the socket`,
      ),
    ],
  ),
]

/** Box locks need flock. */
const fileLocking = (): Promise<Check> =>
  execa('flock', ['--version'], { reject: false, timeout: 5_000 }).then((version) =>
    version.failed ? failed('flock', 'flock is missing, so no box can be locked', 'install util-linux') : passed('flock', 'installed'),
  )

/** Damaged files that the agent set aside; the box of such a file may be fenced and stopped. */
async function damaged(host: LocalHost): Promise<Check[]> {
  const { owner } = host
  const folders = ['journal', 'commands'].map((name) => damagedFolder(join(owner, name)))
  const files = await Promise.all(folders.map(async (folder) => (await namesIn(folder)).map((name) => join(folder, name))))
  return [
    ...files
      .flat()
      .map((path) =>
        failed('damaged file', `${path} is unreadable`, 'check the fence and the containers of its box, then remove the file'),
      ),
    ...(await unreadableBoxes(host)).map((slug) =>
      failed(
        'damaged file',
        `the record of box ${slug} in ${join(owner, 'boxes')} is damaged`,
        'move the record away and adopt the box again',
      ),
    ),
  ]
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])

// Listing would create the folder, which does not exist before enrolment.
const unreadableBoxes = async ({ owner, boxes }: LocalHost) =>
  (await modeOf(join(owner, 'boxes'))) === undefined ? [] : boxes.unreadable()

async function boxes({ owner, boxes, engine }: LocalHost): Promise<Check[]> {
  if ((await modeOf(join(owner, 'boxes'))) === undefined) return []
  return Promise.all((await boxes.list()).map((box) => inspectImage(engine, box)))
}

/** A box must not stay fenced after its command has ended. */
async function inspectImage(engine: LocalHost['engine'], box: LocalBox): Promise<Check> {
  const name = `box ${box.slug}`
  const containers = await engine.containers(box.project).catch(() => undefined)
  if (!containers) return warning(name, 'containers cannot be listed', 'see the check "engine"')
  const down = containers.filter(({ state }) => state !== 'running').map(({ service, state }) => `${service} ${state}`)
  const fence = await readFence(box.project).catch(() => undefined)
  const containerText = [`${containers.length - down.length} of ${containers.length} containers running`, ...down].join(', ')
  if (fence) return fenced(box, fence, containerText)
  return down.length === 0
    ? passed(name, containerText)
    : warning(
        name,
        containerText,
        `tenantry-agent box show ${box.slug}; then docker logs for stopped containers, docker compose up -d for missing ones`,
      )
}

const fenced = ({ slug }: LocalBox, { holder, since, reason }: Fence, containerText: string): Check =>
  warning(
    `box ${slug}`,
    `fenced by ${printable(holder)} since ${printable(since ?? 'an unknown time')}${reason ? ` (${printable(reason)})` : ''}; ${containerText}`,
    holder === 'maintenance'
      ? `tenantry-agent box maintenance off ${slug}, when the work is done`
      : `wait if an update is running; after a failed rollback check its rollout action, then tenantry-agent box unfence ${slug}`,
  )

const restic = ({ snapshots }: LocalHost): Promise<Check> =>
  snapshots.version().then(
    (version) => passed('restic', version),
    (error) =>
      failedBy('restic', error, 'install restic 0.17.1 or newer, or set TENANTRY_AGENT_RESTIC to its path (updates need snapshots)'),
  )

const images = async ({ images }: AgentSettings): Promise<Check> =>
  images.length > 0
    ? passed('images', images.join(', '))
    : warning(
        'images',
        'no image is allowed, so boxes cannot be provisioned or updated',
        'list allowed repositories in `images` of the settings, or in TENANTRY_AGENT_IMAGES',
      )

const gigabyte = 1024 ** 3

async function space(name: string, folder: string): Promise<Check> {
  const { bavail, bsize } = await statfs(await firstThere(resolve(folder)))
  const free = (bavail * bsize) / gigabyte
  const says = `${free.toFixed(1)} GB free at ${resolve(folder)}`
  const fix = 'free disk space: an update needs space for images, a dump and a second database'
  if (free < 1) return failed(name, says, fix)
  return free < 5 ? warning(name, says, fix) : passed(name, says)
}

const firstThere = async (path: string): Promise<string> => ((await modeOf(path)) === undefined ? firstThere(dirname(path)) : path)

async function enrolment({ stateDir }: AgentSettings): Promise<{ identity?: AgentIdentity; check: Check }> {
  const name = 'enrolment'
  try {
    const identity = await readIdentity(stateDir)
    if (identity) return { identity, check: passed(name, `${identity.name} at ${identity.daemonUrl}`) }
    return {
      check: failed(
        name,
        'this agent is not enrolled',
        'tenantry hosts invite, then tenantry-agent enrol --url <daemon> --token-file <file>',
      ),
    }
  } catch (error) {
    return { check: failed(name, asProblem(error).message, 'correct the file, then run doctor again') }
  }
}

const fixes: Readonly<Record<string, string>> = {
  UNREACHABLE: 'check that tenantryd is running and reachable from this host',
  CLOCK_SKEW: 'set the clock of this host: timedatectl set-ntp true',
}

/**
 * Makes a signed call without side effects. For an unknown instance id the daemon answers CONFLICT after it has accepted key and clock; a
 * hello would replace the running agent.
 */
async function daemon({ clock, random }: Machine, { stateDir }: AgentSettings, identity: AgentIdentity): Promise<Check> {
  const name = 'daemon'
  // The daemon may know the new key already: a call with the former one would freeze the host.
  if (await isRotationOpen(stateDir))
    return failed(name, 'skipped: a key rotation of this agent is unfinished', 'start the agent, which finishes it, then run doctor again')
  const answered = passed(name, `${identity.daemonUrl}: host accepted, clocks in sync`)
  try {
    await connect({ clock, random, identity }).heartbeat({ body: { holding: [] } })
    return answered
  } catch (error) {
    const { code, message } = asProblem(error)
    if (code === 'CONFLICT') return answered
    return failed(
      code === 'CLOCK_SKEW' ? 'clock' : name,
      message,
      fixes[code] ?? 'enrol again: tenantry hosts invite, then tenantry-agent enrol --anew',
    )
  }
}
