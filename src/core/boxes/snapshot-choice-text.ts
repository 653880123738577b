import type { SnapshotMode } from './fences.ts'
import type { SnapshotChoice } from './hot-copy.ts'

const copyWords = {
  before: 'dumped while the box is stopped',
  hot: 'copied while the box serves',
} as const satisfies Record<SnapshotMode, string>

/** How the next update copies the database, in one line. */
export const snapshotChoiceText = ({ mode, reason }: SnapshotChoice): string =>
  `${mode}: the database is ${copyWords[mode]}${reason === undefined ? '' : ` (no hot copy: ${reason})`}`
