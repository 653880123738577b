import type { CommandExecutor } from '../ports/index.ts'
import { boxOfCommand } from './box-of-command.ts'
import type { LocalBoxes } from './local-boxes.ts'
import { type ReportDeps, reportVersions } from './report-versions.ts'

/** What runs in a box, asked for by the version sync. */
export const report =
  (deps: ReportDeps & Readonly<{ boxes: LocalBoxes }>): CommandExecutor<'tenant-box.report_versions'> =>
  async (_, payload) => ({ report: await reportVersions(deps, await boxOfCommand(deps.boxes, payload, { handedOver: 'welcome' })) })
