import type { VersionsReport } from '../../../core/boxes/index.ts'
import type { KnownBox } from '../../../core/rollouts/index.ts'

/** Of a box what its answer does not say. */
export type BoxAsked = Omit<KnownBox, 'installed' | 'report' | 'reportedAt' | 'hostOnline' | 'heldBy'>

/** A box that has answered just now and is held by us; the registry only adds what the report cannot know. */
export const observedBox = (box: BoxAsked, report: VersionsReport, now: string): KnownBox => ({
  ...box,
  installed: report.installed,
  report,
  reportedAt: now,
  databaseBytes: report.databaseBytes ?? box.databaseBytes,
  hostOnline: true,
  heldBy: null,
  managed: box.managed && report.managed,
})
