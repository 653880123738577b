import type { DrillResult } from '../../core/boxes/index.ts'
import type { CommandView } from '../../core/hosts/index.ts'
import { duration } from '../../core/kit/index.ts'
import { clean, command, flag, type Style, sections, text } from '../kit/index.ts'
import { follow } from './follow.ts'
import { findSnapshot, shortId } from './list.ts'

type Asked = Readonly<{ commandId: string; snapshotId: string }>

const resultOf = (drilled: CommandView | Asked): DrillResult | undefined =>
  'result' in drilled ? (drilled.result as DrillResult) : undefined

export const drill = command(
  'drill <slug>',
  'Prove that a snapshot comes back, beside the box and out of everybody’s reach',
  {
    snapshot: text('--snapshot <id>', 'which one; the beginning of its id is enough (default: the newest)'),
    wait: flag('--wait', 'wait for the agent, and tell each step'),
  },
  async (context, { slug, snapshot, wait }): Promise<CommandView | Asked> => {
    const body = snapshot === undefined ? {} : { snapshotId: (await findSnapshot(context, slug, snapshot)).snapshotId }
    const asked = await context.api.snapshots.drillBox({ params: { slug }, body })
    return wait ? follow(context, slug, asked.commandId, 'drilling') : asked
  },
  drillView,
  { exit: (drilled) => (resultOf(drilled)?.ok === false ? 1 : 0) },
)

function drillView(drilled: CommandView | Asked, { paint }: Style, { slug }: { slug: string }): string {
  const result = resultOf(drilled)
  if (!result) return `The agent was asked. Its answer: tenantry snapshots list --slug ${slug}`
  const { ok, snapshotId, restoreMs, tables, rows, error } = result
  const which = `${shortId(snapshotId)} of ${slug}`
  if (!ok) return sections(paint.red(`${which} did not come back.`), error ? `${clean(error.message)} [${clean(error.code)}]` : '')
  const counted = tables === null || rows === null ? '' : `, ${tables} tables with ${rows} rows as they were`
  const took = restoreMs === null ? '' : ` A restore would take about ${duration(restoreMs)}.`
  return `${paint.green(`${which} came back whole`)}${counted}.${took}`
}
