import { join } from 'node:path'
import type { BoxCommandPayload, DrillStep } from '../../core/boxes/index.ts'
import { type Random, sha256Hex } from '../../core/kit/index.ts'
import { type DiskSpace, dumpFolderOf, repositoryOnce } from '../backup/index.ts'
import type { BoxSettings, LocalBoxes } from '../boxes/index.ts'
import type { CommandJournal, OnceOnly } from '../journal/index.ts'
import type { CommandContext, ContainerEngine, LocalBox, Repository } from '../ports/index.ts'
import type { RebuildDeps } from '../rebuild/index.ts'
import type { SagaActs } from '../saga/index.ts'

export type DrillDeps = RebuildDeps &
  Readonly<{
    random: Random
    boxes: LocalBoxes
    journal: CommandJournal
    once: OnceOnly
    disk: DiskSpace
    settings: Pick<BoxSettings, 'templateFolder' | 'maxUploadMegabytes'>
    /** Fetched snapshots are below it until the command is over. */
    workFolder: string
    /** The agent's own folder: distinguishes the drills of agents that share an engine. */
    stateFolder: string
  }>

/** The prefix of the compose projects of an agent's drills. */
export const drillProjects = (stateFolder: string): string => `drill-${sha256Hex(stateFolder).slice(0, 8)}-`

const drillProject = (stateFolder: string, commandId: string): string => `${drillProjects(stateFolder)}${sha256Hex(commandId).slice(0, 12)}`

/** One drill in the hands of one agent. */
export type DrillRun = Readonly<{
  deps: DrillDeps
  context: CommandContext
  payload: BoxCommandPayload<'tenant-box.drill'>
  /** The box of the snapshot; only read. */
  original: LocalBox
  /** The box rebuilt from the snapshot. */
  copy: LocalBox
  folder: string
  repository(): Promise<Repository>
}>

export type DrillActs = SagaActs<DrillStep>

export function startDrill(deps: DrillDeps, { context, payload, original }: Pick<DrillRun, 'context' | 'payload' | 'original'>): DrillRun {
  const folder = dumpFolderOf(deps.workFolder, context.commandId)
  const copyFolder = join(folder, 'copy')
  const name = drillProject(deps.stateFolder, context.commandId)
  return {
    deps,
    context,
    payload,
    original,
    copy: { ...original, ports: null, project: { name, folder: copyFolder, composeFile: join(copyFolder, '.drill.yaml') } },
    folder,
    repository: repositoryOnce(context),
  }
}

type Deps = Readonly<{ engine: ContainerEngine; journal: CommandJournal; stateFolder: string }>

/**
 * Removes what drills left on the engine when the agent starts: projects and pins of this agent's drills whose command is over or unknown.
 * Open commands remove their own. Returns the projects.
 */
export async function sweepDrills({ engine, journal, stateFolder }: Deps): Promise<readonly string[]> {
  const open = new Set((await journal.open()).map(({ commandId }) => drillProject(stateFolder, commandId)))
  const leftover = (await engine.projects(drillProjects(stateFolder))).filter((name) => !open.has(name))
  for (const name of leftover) {
    await engine.removeProject(name)
    await engine.unpin(name)
  }
  const failed = (await journal.all()).filter(({ kind, closed }) => kind === 'tenant-box.drill' && hasError(closed?.result))
  for (const { commandId } of failed) await engine.unpin(drillProject(stateFolder, commandId))
  return leftover
}

const hasError = (result: unknown): boolean => Boolean((result as { error?: unknown } | null | undefined)?.error)
