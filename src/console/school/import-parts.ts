import type { ImportReport } from '../../core/users/index.ts'
import { joined } from './import-report.ts'

export type Part = ImportReport & Readonly<{ encoding: string | null }>

type Sending = Readonly<{ send(fromLine: number): Promise<Part>; onPart(report: Part): void; signal: AbortSignal }>

/** Sends a file as often as it takes: the daemon imports for some seconds, then says at which line to continue. Ends early where the page was left. */
export async function sendParts({ send, onPart, signal }: Sending): Promise<Part | undefined> {
  let report: Part | undefined
  for (let fromLine: number | null = 1; fromLine !== null && !signal.aborted; ) {
    const part = await send(fromLine)
    report = report ? { ...joined(report, part), encoding: part.encoding } : part
    onPart(report)
    fromLine = part.stopped === null ? part.nextLine : null
  }
  return report
}

type Shown = Readonly<{ isRunning: boolean; report: ImportReport | undefined; saved: ImportReport | undefined }>

/** Whether something is lost where the page is left: an import that runs, or passwords of a report that is not the saved one. */
export const losesOnLeaving = ({ isRunning, report, saved }: Shown): boolean =>
  isRunning || (report !== undefined && report !== saved && Object.keys(report.passwords).length > 0)
