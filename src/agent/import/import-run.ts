import { join } from 'node:path'
import type { BoxCommandPayload } from '../../core/boxes/index.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import { dumpFolderOf } from '../backup/index.ts'
import { type BoxSettings, type LocalBoxes, projectOf, type ReportDeps } from '../boxes/index.ts'
import type { CommandJournal, OnceOnly } from '../journal/index.ts'
import type { CommandContext, DatabaseBackup, LocalBox } from '../ports/index.ts'
import type { PortableBox } from '../rebuild/index.ts'
import type { SurveyDeps, Surveyed } from './survey.ts'

export type ImportDeps = SurveyDeps &
  ReportDeps &
  Readonly<{
    clock: Clock
    random: Random
    boxes: LocalBoxes
    journal: CommandJournal
    once: OnceOnly
    settings: BoxSettings
    /** Dumps are below it until their command is over. */
    workFolder: string
    portInUse(port: number): Promise<boolean>
    /** Answers of the programs of a foreign stack. */
    foreign: ForeignPrograms
  }>

export type ForeignPrograms = Readonly<{
  survey(box: LocalBox, signal: AbortSignal): Promise<Surveyed>
  settings(box: LocalBox, signal: AbortSignal): Promise<PortableBox>
  /** True once its chat server answers at one of the addresses. */
  answers(place: Readonly<{ address: string; port: number }>, signal: AbortSignal): Promise<boolean>
}>

export type ImportPayload = BoxCommandPayload<'tenant-box.import'>

/** One import on this host. */
export type ImportRun = Readonly<{
  deps: ImportDeps
  context: CommandContext
  payload: ImportPayload
  /** As it was before: the foreign stack, observed or completed in place. */
  observed: LocalBox
  /** As it is recorded once it is proven. */
  box: LocalBox
  dumpFolder: string
  /** Its session keeps the log of the foreign database since the copy; it ends with the agent. */
  backup: { open?: DatabaseBackup | undefined }
}>

export function startImport(
  deps: ImportDeps,
  context: CommandContext,
  { payload, recorded }: Readonly<{ payload: ImportPayload; recorded: LocalBox }>,
): ImportRun {
  const { slug, chatDomain, ports } = payload
  const { imported, ...observed } = recorded
  // A resumed import may have stored its record already.
  const before = imported ? { ...observed, ...imported.observed } : observed
  return {
    deps,
    context,
    payload,
    observed: before,
    box: { ...observed, managed: true, chatDomain, ports, project: projectOf(deps.settings, slug), migrationsHead: '0000' },
    dumpFolder: join(dumpFolderOf(deps.workFolder, context.commandId), 'dump'),
    backup: {},
  }
}
