import { join } from 'node:path'
import { formerFindings, majorOfImage, targetFindings, type UpgradeFinding } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { environmentValue, recordOf } from '../boxes/index.ts'
import { environmentOf, startNext, type Transferred, transfer } from '../dump-load/index.ts'
import type { ContainerState, LocalBox } from '../ports/index.ts'
import { takeColdCopy } from './cold-copy.ts'
import { controlOf, dataFolderIn } from './control-file.ts'
import { nextProjectOf, stopDumpServer, withDumpServer } from './dump-server.ts'
import { assertRecovered } from './hot-copy.ts'
import {
  type Before,
  beforeOf,
  copiedFolder,
  isHot,
  isUpgrade,
  type LoadedDatabase,
  nextVolume,
  notUpgraded,
  storedSnapshot,
  type UpdateRun,
  type UpgradeSource,
} from './update-run.ts'

// An update to another major version of PostgreSQL. The copy of the database is dumped and loaded into a volume of its own by the new
// version, and compared. The volume that the box ran on is not touched: a rollback takes it again.

/** The place of the data of the official images up to this version; later ones have a folder for each. */
const lastWithOneFolder = 17

/** The facts of the running database that the upgrade needs. Throws PREFLIGHT_REFUSED for the findings of a rehearsal. */
export async function upgradeSource(run: UpdateRun, before: Before, text: string): Promise<UpgradeSource | undefined> {
  const { box, deps, payload, signal } = run
  const target = before.planned.includes('postgres') ? payload.targets.services.postgres : undefined
  const known = await deps.servers.databaseFacts(box)
  const major = target && Number(majorOfImage(target.image))
  const present = known?.hotCopy?.major
  if (!isUpgrade(run)) {
    if (target && major && present !== undefined && major !== present)
      throw refused(run, `${target.image} is another major version than ${present}, and this update is no upgrade. fix: plan again`)
    return undefined
  }
  const root = await deps.engine.volumePath(before.database.volume)
  if (!target || !known || root === undefined) throw refused(run, 'there is no new PostgreSQL, or the present one does not answer')
  if (payload.fence.mode !== 'until-stable' || !isHot(run)) throw refused(run, 'it needs a hot copy, and maintenance until it is stable')
  const facts = await deps.servers.upgrades.facts(box, signal)
  const { hotCopy, alteredSettings, systemId } = known
  assertNone(run, formerFindings(box.slug, facts, { hotCopy, freeDiskBytes: await deps.disk.freeBytes(root), alteredSettings }))
  const data = await dataFolderIn(root, systemId ?? undefined)
  const written = recordOf(recordOf((await deps.engine.resolveCompose(box.project, text)).services).postgres)
  if ((major === undefined || !(major <= lastWithOneFolder)) && environmentValue(written, 'PGDATA') === undefined)
    throw refused(
      run,
      `images since PostgreSQL ${lastWithOneFolder + 1} keep their data elsewhere, and the compose file does not say where. fix: set PGDATA of the service postgres to its present data folder, and recreate it`,
    )
  const container = await postgresOf(run, box)
  const environment = container ? await environmentOf(deps.engine, container, ['POSTGRES_INITDB_ARGS', 'POSTGRES_HOST_AUTH_METHOD']) : {}
  return { facts, inside: data.slice(root.length + 1), environment }
}

const refused = (run: UpdateRun, why: string) => problem('PREFLIGHT_REFUSED', notUpgraded(run, why))

const refusals = (findings: readonly UpgradeFinding[]): string =>
  findings.flatMap(({ severity, message }) => (severity === 'refuse' ? [message] : [])).join('; ')

function assertNone(run: UpdateRun, findings: readonly UpgradeFinding[]): void {
  const against = refusals(findings)
  if (against !== '') throw refused(run, against)
}

const postgresOf = async ({ deps }: UpdateRun, { project }: LocalBox): Promise<ContainerState | undefined> =>
  (await deps.engine.containers(project)).find(({ service }) => service === 'postgres')

/**
 * Loads the copy of the stopped database into the volume of the new version, and compares both. An interrupted one begins again with an empty
 * volume. Throws UPDATE_FAILED; nothing of the box is touched.
 */
export async function loadUpgrade(run: UpdateRun): Promise<LoadedDatabase> {
  const { deps, box, context } = run
  const { database } = beforeOf(run)
  const volume = nextVolume(run, database.volume)
  await removeNextServer(run)
  await stopDumpServer(run)
  await deps.engine.removeVolume(volume)
  const notCopied = storedSnapshot(run)?.copy?.skipped ?? 'the copy of its database is gone, or from before a restart of its host'
  if (!(await takeColdCopy(run))) throw problem('UPDATE_FAILED', notUpgraded(run, notCopied))
  await deps.engine.createVolume(box.project, database.key, volume)
  const found: Transferred = { findings: [], times: {} }
  const begin = (step: string) => context.progress({ step: 'upgrade', detail: partWords[step] ?? step })
  const failing = { code: 'UPDATE_FAILED', what: `PostgreSQL of ${box.slug} was not upgraded` } as const
  await withDumpServer(run, (former) => loadFrom(run, former, { volume, found, begin }), failing)
  return { volume, times: found.times, rows: found.content?.rows ?? 0 }
}

const partWords: Readonly<Record<string, string>> = {
  cluster: 'start the new PostgreSQL',
  'next-dump': 'dump with the new PostgreSQL',
  'next-load': 'load into the new PostgreSQL',
  analyze: 'ANALYZE',
  contents: 'compare',
}

type Loading = Readonly<{ volume: string; found: Transferred; begin(step: string): void }>

async function loadFrom(run: UpdateRun, former: LocalBox, { volume, found, begin }: Loading): Promise<void> {
  const { deps, box, payload, signal } = run
  const { facts, inside, environment } = beforeOf(run).upgrade as UpgradeSource
  await assertRecovered(run, { code: 'UPDATE_FAILED', database: former })
  const server = await postgresOf(run, former)
  begin('cluster')
  const next = nextServer(run)
  const image = payload.targets.services.postgres?.image as string
  try {
    await startNext(run, next, { image, network: `container:${server?.id}`, volume, superuser: facts.superuser, inside, environment })
    assertNone(run, targetFindings(box.slug, facts, await deps.servers.upgrades.target(next, signal)))
    await transfer({ deps, slug: box.slug, signal, begin }, { former, next }, found)
    assertNone(run, found.findings)
    await stopCleanly(run, next, volume)
  } finally {
    if (!run.context.signal.aborted) await removeNextServer(run)
  }
}

/** The loaded database must be on the disk, with no log left to replay. */
async function stopCleanly(run: UpdateRun, next: LocalBox, volume: string): Promise<void> {
  const { engine } = run.deps
  await engine.stop(next.project, ['postgres'])
  const { exitCode, state } = (await postgresOf(run, next)) ?? {}
  const root = await engine.volumePath(volume)
  const { inside } = beforeOf(run).upgrade as UpgradeSource
  if (state !== 'exited' || exitCode !== 0 || root === undefined || !(await controlOf(join(root, inside))).isShutDown)
    throw problem('CONFLICT', `the new PostgreSQL did not shut down cleanly (exit code ${exitCode ?? 'unknown'})`)
}

function nextServer(run: UpdateRun): LocalBox {
  const name = nextProjectOf(run)
  const folder = copiedFolder(run)
  return { ...run.box, ports: null, project: { name, folder, composeFile: join(folder, 'next-server.yaml') } }
}

/** Also what a killed agent left. The volume stays. */
export async function removeNextServer(run: UpdateRun): Promise<void> {
  await run.deps.engine.removeProject(nextProjectOf(run))
}
