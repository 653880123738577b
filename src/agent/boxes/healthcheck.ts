import type { CommandExecutor } from '../ports/index.ts'
import { boxOfCommand } from './box-of-command.ts'
import type { LocalBoxes } from './local-boxes.ts'
import { type ReportDeps, reportVersions } from './report-versions.ts'

/** One writing probe, and what runs. A sick box is a result, not a failure of the command. */
export const healthcheck =
  (deps: ReportDeps & Readonly<{ boxes: LocalBoxes }>): CommandExecutor<'tenant-box.healthcheck'> =>
  async ({ signal }, payload) => {
    const box = await boxOfCommand(deps.boxes, payload)
    const probe = await deps.servers.probe(box, signal)
    return { probe, report: await reportVersions(deps, box) }
  }
