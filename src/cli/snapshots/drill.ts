import { type DrillResult, drilledMediaText, provenDrill } from '../../core/boxes/index.ts'
import type { CommandView } from '../../core/hosts/index.ts'
import { duration } from '../../core/kit/index.ts'
import { awaitWithProgress } from '../boxes/index.ts'
import { clean, command, flag, type Style, sections, text } from '../kit/index.ts'
import { findSnapshot, shortId } from './list.ts'

type Started = Readonly<{ commandId: string; snapshotId: string }>

const resultOf = (drilled: CommandView | Started): DrillResult | undefined =>
  'result' in drilled ? provenDrill(drilled.result as DrillResult) : undefined

export const drill = command('drill <slug>', 'Test-restore a snapshot in isolation', {
  options: {
    snapshot: text('--snapshot <id>', 'id or prefix of it (default: the newest)'),
    wait: flag('--wait', 'wait for the agent'),
  },
  run: async (context, { slug, snapshot, wait }): Promise<CommandView | Started> => {
    const body = snapshot === undefined ? {} : { snapshotId: (await findSnapshot(context, slug, snapshot)).snapshotId }
    const started = await context.api.snapshots.drillBox({ params: { slug }, body })
    return wait ? awaitWithProgress(context, started.commandId, `${slug}: drilling`) : started
  },
  view: drillView,
  exit: (drilled) => (resultOf(drilled)?.ok === false ? 1 : 0),
})

function drillView(drilled: CommandView | Started, { paint }: Style, { slug }: { slug: string }): string {
  const result = resultOf(drilled)
  if (!result) return `Drill started. Result: tenantry snapshots list --slug ${slug}`
  const { ok, snapshotId, restoreMs, tables, rows, media, error } = result
  const which = `${shortId(snapshotId)} of ${slug}`
  if (!ok) return sections(paint.red(`Drill failed for ${which}.`), error ? `${clean(error.message)} [${clean(error.code)}]` : '')
  const compared = [tables !== null && rows !== null && `${tables} tables with ${rows} rows match`, drilledMediaText(media)].filter(Boolean)
  const estimate = restoreMs === null ? '' : ` Estimated restore time: ${duration(restoreMs)}.`
  return `${[paint.green(`Verified ${which}`), ...compared].join(', ')}.${estimate}`
}
