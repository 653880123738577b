import { mkdir, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import { fenceFile, recordOf } from '../boxes/index.ts'
import { assertMounted, waitForDatabase } from '../change/index.ts'
import type { CommandJournal } from '../journal/index.ts'
import type { ContainerEngine, LocalBox, Project } from '../ports/index.ts'
import { copyFolder } from './copy-folder.ts'
import { type Before, beforeOf, coldVolume, copiedFolder, formerText, type UpdateRun } from './update-run.ts'

// A second PostgreSQL of the former version on the hot copy, without a network: the snapshot is dumped from it while the box serves.

/** The box's files as they were when its database was copied. */
export const stagedFolder = (run: UpdateRun): string => join(copiedFolder(run), 'box')

/** A larger folder would prolong the downtime. */
const maxStagedBytes = 64 * 1024 * 1024

export async function stageBoxFolder(run: UpdateRun): Promise<void> {
  const { box, signal } = run
  const into = stagedFolder(run)
  await rm(into, { recursive: true, force: true })
  await copyFolder(box.project.folder, into, { signal })
  await rm(join(into, relative(box.project.folder, fenceFile(box.project))), { force: true })
}

/**
 * Why the snapshot cannot be stored from a copy of this box; undefined if it can. Checked while the box serves, because the server starts when
 * the new version is already in use.
 */
export async function whyNoDumpServer(run: UpdateRun, before: Before, text: string): Promise<string | undefined> {
  const { deps, box } = run
  if ((await deps.disk.usedBytes(box.project.folder)) > maxStagedBytes) return `${box.project.folder} has more than 64 MiB`
  const whole = await deps.engine.resolveCompose(box.project, text)
  const mounts = mountsOf(recordOf(recordOf(whole.services).postgres))
  const [written] = mounts.filter((mount) => !isData(mount, before.database.key) && !isHarmless(mount))
  if (written !== undefined) return `PostgreSQL also writes to ${String(written.source ?? written.target)}`
  const rendered = render(run, before, whole)
  return deps.engine.resolveCompose(serverProject(run), rendered).then(
    () => undefined,
    (error: Error) => `a second PostgreSQL cannot be started: ${error.message}`.slice(0, 300),
  )
}

const mountsOf = ({ volumes }: Record<string, unknown>): Record<string, unknown>[] => (Array.isArray(volumes) ? volumes.map(recordOf) : [])
const isData = ({ type, source }: Record<string, unknown>, key: string): boolean => type === 'volume' && source === key
const isHarmless = ({ type, read_only }: Record<string, unknown>): boolean => type === 'tmpfs' || read_only === true

/** Not those that connect the server to others, make it public, or restart it. */
const droppedKeys = [
  ...['build', 'container_name', 'depends_on', 'deploy', 'dns', 'dns_search', 'expose', 'external_links', 'extra_hosts', 'healthcheck'],
  ...['hostname', 'ipc', 'labels', 'links', 'mac_address', 'pid', 'network_mode', 'networks', 'ports', 'profiles', 'restart', 'scale'],
]

const composeText = async (run: UpdateRun): Promise<string> =>
  render(run, beforeOf(run), await run.deps.engine.resolveCompose(run.box.project, await formerText(run)))

/** JSON is YAML in which every text is quoted. */
function render(run: UpdateRun, { containers, database }: Before, whole: Readonly<Record<string, unknown>>): string {
  const written = recordOf(recordOf(whole.services).postgres)
  const postgres = Object.fromEntries(Object.entries(written).filter(([key]) => !droppedKeys.includes(key)))
  const { resources } = recordOf(written.deploy)
  const volumes = Object.entries(recordOf(whole.volumes)).map(([key, volume]) => {
    const name = key === database.key ? coldVolume(run, database.volume) : recordOf(volume).name
    return [key, { name, external: true }] as const
  })
  const changed = { image: containers.postgres?.image, network_mode: 'none', healthcheck: { disable: true }, restart: 'no' }
  return JSON.stringify({
    name: projectOf(run),
    services: { postgres: { ...postgres, ...changed, ...(resources === undefined ? {} : { deploy: { resources } }) } },
    volumes: Object.fromEntries(volumes),
    ...(whole.secrets === undefined ? {} : { secrets: whole.secrets }),
    ...(whole.configs === undefined ? {} : { configs: whole.configs }),
  })
}

/** The prefix of the names of all dump servers of one agent. */
const dumpProjects = (workFolder: string): string => `dump-${sha256Hex(workFolder).slice(0, 8)}-`
const nameOf = (workFolder: string, commandId: string): string => `${dumpProjects(workFolder)}${sha256Hex(commandId).slice(0, 12)}`
const projectOf = ({ deps, context }: UpdateRun): string => nameOf(deps.workFolder, context.commandId)

/** The text of its file has what the operator's extra file says about PostgreSQL. */
function serverProject(run: UpdateRun): Project {
  const { extraFile: _, ...project } = run.box.project
  return { ...project, name: projectOf(run) }
}

/** The words and the code of a failure. */
type Failing = Readonly<{ code: 'SNAPSHOT_FAILED' | 'UPDATE_FAILED'; what: string }>

/** Runs the server, and removes it afterwards; its container may be gone before. Throws SNAPSHOT_FAILED, or as `failing` says. */
export async function withDumpServer<Value>(
  run: UpdateRun,
  work: (database: LocalBox) => Promise<Value>,
  failing: Failing = { code: 'SNAPSHOT_FAILED', what: `the snapshot of ${run.box.slug} was not stored` },
): Promise<Value> {
  const { deps, box, signal } = run
  const composeFile = join(copiedFolder(run), 'dump-server.yaml')
  const database: LocalBox = { ...box, project: { ...serverProject(run), composeFile } }
  await stopDumpServer(run)
  await mkdir(copiedFolder(run), { recursive: true, mode: 0o700 })
  await writeFileAtomic(composeFile, await composeText(run))
  try {
    await deps.engine.up(database.project, ['postgres'], signal)
    await assertMounted({ deps, box: database }, coldVolume(run))
    await waitForDatabase({ ...run, box: database })
    return await work(database)
  } catch (error) {
    signal.throwIfAborted()
    throw problem(failing.code, `${failing.what}: ${(error as Error).message}`, { cause: error })
  } finally {
    await stopDumpServer(run)
  }
}

/** Also what a killed agent left. The copy stays. */
export async function stopDumpServer(run: UpdateRun): Promise<void> {
  const { engine } = run.deps
  const name = projectOf(run)
  if (!(await engine.projects(name)).includes(name)) return
  // A clean shutdown, so that a restore has no log to replay.
  await engine.stop({ ...run.box.project, name }, ['postgres']).catch(() => undefined)
  await engine.removeProject(name)
}

type SweepDeps = Readonly<{ engine: ContainerEngine; journal: CommandJournal; workFolder: string }>

/** The project of the new version of an upgrade, beside the dump server. */
export const nextProjectOf = (run: UpdateRun): string => `${projectOf(run)}${nextSuffix}`
const nextSuffix = '-next'

/** Removes the servers of commands that are over or unknown when the agent starts. Returns their projects. */
export async function sweepDumpServers({ engine, journal, workFolder }: SweepDeps): Promise<readonly string[]> {
  const open = new Set((await journal.open()).map(({ commandId }) => nameOf(workFolder, commandId)))
  const isOpen = (name: string) => open.has(name.endsWith(nextSuffix) ? name.slice(0, -nextSuffix.length) : name)
  const leftover = (await engine.projects(dumpProjects(workFolder))).filter((name) => !isOpen(name))
  for (const name of leftover) await engine.removeProject(name)
  return leftover
}
