import type { BoxCommandResult } from '../../core/boxes/index.ts'
import { bytesText, plural, problem } from '../../core/kit/index.ts'
import { readMoment } from '../../core/snapshots/index.ts'
import { awaitWithProgress } from '../boxes/index.ts'
import { type Context, command, lasted, required, type Style, stamp, text } from '../kit/index.ts'
import { shortId } from './list.ts'

export const recoverCommand = command('recover <slug>', 'Make a snapshot of an earlier moment from the archive', {
  options: {
    to: required(text('--to <time>', 'a moment of the archive in UTC, or latest')),
    host: text('--host <host>', 'another host, where that of the box is lost'),
  },
  run: async (context, { slug, to, host }) => {
    const view = await planText(context, slug, to)
    context.notify((style) => view(style))
    return recover(context, slug, { to, host })
  },
  view: ({ snapshotId }, _, { slug }) =>
    `Recovered ${slug} into snapshot ${shortId(snapshotId)}. Restore it: tenantry snapshots restore ${slug} --snapshot ${shortId(snapshotId)} --reason '…'`,
  examples: ["recover anna-schule --to '2026-11-27 14:03'"],
})

function momentOf(to: string): string {
  const at = to === 'latest' ? to : readMoment(to)
  if (at === undefined)
    throw problem('VALIDATION', `${JSON.stringify(to)} is no moment. fix: --to '2026-11-27 14:03' (UTC), or --to latest`)
  return at
}

/** The moment that a recovery contains, and the time that it lacks. */
export async function planText({ api }: Context, slug: string, to: string): Promise<(style: Style) => string> {
  const plan = await api.snapshots.planRecovery({ params: { slug }, query: { to: momentOf(to) } })
  return ({ now, paint }) =>
    [
      `Recovers ${slug} as of ${stamp(plan.at, now)}: a base of ${stamp(plan.baseAt, now)} and ${plural(plan.parts - 1, 'part')} of the log (${bytesText(plan.bytes)}).`,
      paint.red(`DATA LOSS: everything of the last ${lasted(plan.at, null, now)} (messages, files, accounts).`),
    ].join('\n')
}

/** Waits for the snapshot. The box is not touched. */
export async function recover(
  context: Context,
  slug: string,
  { to, host }: Readonly<{ to: string; host: string | undefined }>,
): Promise<Readonly<{ snapshotId: string; takenAt: string }>> {
  const body = { to: momentOf(to), ...(host === undefined ? {} : { host }) }
  const { commandId } = await context.api.snapshots.recoverBox({ params: { slug }, body })
  const ended = await awaitWithProgress(context, commandId, `${slug}: recovering`)
  const { snapshot } = ended.result as BoxCommandResult<'tenant-box.recover'>
  return { snapshotId: snapshot.snapshotId, takenAt: snapshot.takenAt }
}
