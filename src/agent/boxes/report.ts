import type { CommandExecutor } from '../ports/index.ts'
import { boxOfCommand } from './box-of-command.ts'
import type { LocalBoxes } from './local-boxes.ts'
import { type ReportNeeds, reportVersions } from './report-versions.ts'

/** What runs in a box, asked for by the version sync. */
export const report =
  (needs: ReportNeeds & Readonly<{ boxes: LocalBoxes }>): CommandExecutor<'tenant-box.report_versions'> =>
  async (_, payload) => ({ report: await reportVersions(needs, await boxOfCommand(needs.boxes, payload, { handedOver: 'welcome' })) })
