import { join } from 'node:path'
import type { BoxCommandPayload, DrillStep } from '../../core/boxes/index.ts'
import { type Random, sha256Hex } from '../../core/kit/index.ts'
import { type DiskSpace, dumpFolderOf, repositoryOnce } from '../backup/index.ts'
import type { LocalBoxes } from '../boxes/index.ts'
import type { CommandJournal, OnceOnly } from '../journal/index.ts'
import type { CommandContext, LocalBox, Repository } from '../ports/index.ts'
import type { ReviveDeps } from '../rebuild/index.ts'
import type { SagaActs } from '../saga/index.ts'

export type DrillDeps = ReviveDeps &
  Readonly<{
    random: Random
    boxes: LocalBoxes
    journal: CommandJournal
    once: OnceOnly
    disk: DiskSpace
    /** What is fetched lies below it until the command is over. */
    workFolder: string
    /** The agent's own folder: by it this agent tells its drills from those of others on the same engine. */
    stateFolder: string
  }>

/** What the compose projects of an agent's drills begin with. */
export const drillProjects = (stateFolder: string): string => `drill-${sha256Hex(stateFolder).slice(0, 8)}-`

export const drillProject = (stateFolder: string, commandId: string): string =>
  `${drillProjects(stateFolder)}${sha256Hex(commandId).slice(0, 12)}`

/** One drill in the hands of one agent. */
export type DrillRun = Readonly<{
  deps: DrillDeps
  context: CommandContext
  payload: BoxCommandPayload<'tenant-box.drill'>
  /** The box that the snapshot is of; only looked at. */
  original: LocalBox
  /** What is made from it. */
  copy: LocalBox
  folder: string
  repository(): Promise<Repository>
}>

export type DrillSteps = SagaActs<DrillStep>

export function startDrill(deps: DrillDeps, { context, payload, original }: Pick<DrillRun, 'context' | 'payload' | 'original'>): DrillRun {
  const folder = dumpFolderOf(deps.workFolder, context.commandId)
  const boxFolder = join(folder, 'box')
  const name = drillProject(deps.stateFolder, context.commandId)
  return {
    deps,
    context,
    payload,
    original,
    copy: { ...original, ports: null, project: { name, folder: boxFolder, composeFile: join(boxFolder, '.drill.yaml') } },
    folder,
    repository: repositoryOnce(context),
  }
}
