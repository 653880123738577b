import type { CommandExecutor } from '../ports/index.ts'
import { boxOfCommand } from './box-of-command.ts'
import type { LocalBoxes } from './local-boxes.ts'
import { type ReportNeeds, reportVersions } from './report-versions.ts'

/** One writing probe, and what runs. A sick box is a result, not a failure of the command. */
export const healthcheck =
  (needs: ReportNeeds & Readonly<{ boxes: LocalBoxes }>): CommandExecutor<'tenant-box.healthcheck'> =>
  async ({ signal }, payload) => {
    const box = await boxOfCommand(needs.boxes, payload)
    const probe = await needs.inside.probe(box, signal)
    return { probe, report: await reportVersions(needs, box) }
  }
