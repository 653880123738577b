import { type BoxMove, type ReintroducedVulnerability, type RestoreResult, reintroducedText } from '../../core/boxes/index.ts'
import type { CommandView } from '../../core/hosts/index.ts'
import { duration, isProblem, problem } from '../../core/kit/index.ts'
import type { Snapshot } from '../../core/snapshots/index.ts'
import { awaitWithProgress, followLine, isOnNewHost, moveFromLostHost, moveView } from '../boxes/index.ts'
import { type Context, clean, command, flag, lasted, required, type Style, sections, stamp, text } from '../kit/index.ts'
import { findSnapshot, shortId } from './list.ts'
import { planText, recover } from './recover.ts'

type Started = Readonly<{ commandId: string; snapshotId: string; reopens: readonly ReintroducedVulnerability[] }>

const outcomeOf = (restored: CommandView | Started): RestoreResult | undefined =>
  'result' in restored ? (restored.result as RestoreResult) : undefined

export const restore = command('restore <slug>', 'Restore a box from a snapshot', {
  options: {
    snapshot: text('--snapshot <id>', 'id or prefix of it'),
    to: text('--to <time>', 'a moment of the archive in UTC, or latest'),
    host: text('--host <host>', 'with --to latest: rebuild it there, its own host is lost'),
    reason: required(text('--reason <text>', 'reason, for the audit log')),
    allowVulnerable: flag('--allow-vulnerable', 'restore even if it reintroduces a fixed vulnerability'),
    wait: flag('--wait', 'wait for the agent'),
  },
  run: async (context, { slug, snapshot, to, host, reason, allowVulnerable, wait }): Promise<CommandView | Started | BoxMove> => {
    if ((snapshot === undefined) === (to === undefined)) throw problem('USAGE', 'pass either --snapshot <id> or --to <time>')
    if (host !== undefined && to !== 'latest')
      throw problem('USAGE', '--host needs --to latest; a moment before is restored on the new host')
    if (to !== undefined) await confirmRecovery(context, slug, { to, host })
    const id = snapshot ?? (await recover(context, slug, { to: to as string, host })).snapshotId
    if (host !== undefined) return moveFromLostHost(context, slug, { to: host, reason })
    const found = await findSnapshot(context, slug, id)
    if (!context.yes && to === undefined) await confirmRestore(context, slug, found)
    const started = await startRestore(context, slug, { body: { snapshotId: found.snapshotId, reason }, allowVulnerable })
    if (started.reopens.length > 0) context.notify(clean(reintroducedText(slug, started.reopens)))
    return wait ? awaitWithProgress(context, started.commandId, `${slug}: restoring`) : started
  },
  view: restoreView,
  exit: (restored) =>
    isMove(restored) ? (isOnNewHost(restored) ? 0 : 1) : ['restored', undefined].includes(outcomeOf(restored)?.outcome) ? 0 : 1,
  examples: [
    "restore anna-schule --snapshot 3f2a91c0 --reason 'the import went wrong' --wait",
    "restore anna-schule --to latest --reason 'the disk failed' --wait",
    "restore anna-schule --to '2026-11-27 14:03' --reason 'a room was purged' --wait",
  ],
})

type Body = Readonly<{ snapshotId: string; reason: string }>

/** Asks again before a restore that reintroduces a vulnerability; a script must pass the flag. */
async function startRestore(
  { api, yes, ask, notify }: Context,
  slug: string,
  { body, allowVulnerable }: Readonly<{ body: Body; allowVulnerable: boolean }>,
): Promise<Started> {
  const restoreBox = (allowed: boolean) =>
    api.snapshots.restoreBox({ params: { slug }, body: { ...body, ...(allowed ? { allowHole: true } : {}) } })
  try {
    return await restoreBox(allowVulnerable)
  } catch (error) {
    if (yes || !isProblem(error, 'REINTRODUCES_CVE')) throw error
    notify(`\n${clean(error.message)}`)
    const typed = await ask.text('Type "vulnerable" to restore anyway:', 'pass --allow-vulnerable')
    if (typed.trim() !== 'vulnerable') throw problem('CANCELLED', 'nothing was changed')
    return restoreBox(true)
  }
}

/** Shows the data loss and asks for the slug. */
async function confirmRestore({ ask, notify }: Context, slug: string, snapshot: Snapshot): Promise<void> {
  notify((style) => lossView(slug, snapshot, style))
  const typed = await ask.text(`Type ${slug} to restore it from ${shortId(snapshot.snapshotId)}:`, 'pass --yes')
  if (typed.trim() !== slug) throw problem('CANCELLED', `confirmation does not match ${slug}; nothing was changed`)
}

/** Shows what will be missing and asks for the slug, before anything is made. */
async function confirmRecovery(context: Context, slug: string, { to, host }: Readonly<{ to: string; host: string | undefined }>) {
  const text = await planText(context, slug, to)
  const effect =
    host === undefined
      ? 'The box is offline during the restore. The current data is kept as a pre-restore snapshot.'
      : `The box is rebuilt on ${host}. Its address must point to ${host} then.`
  context.notify((style) => [text(style), clean(effect)].join('\n'))
  if (context.yes) return
  const typed = await context.ask.text(`Type ${slug} to restore it:`, 'pass --yes')
  if (typed.trim() !== slug) throw problem('CANCELLED', `confirmation does not match ${slug}; nothing was changed`)
}

function lossView(slug: string, snapshot: Snapshot, { now, paint }: Style): string {
  const { snapshotId, tier, takenAt, lastProof, status } = snapshot
  const proof = lastProof
    ? `Last drilled ${stamp(lastProof.at, now)}${lastProof.durationMs === null ? '' : ` in ${duration(lastProof.durationMs)}`}.`
    : 'It was never drilled. Drill it first: tenantry snapshots drill'
  return [
    `Restores ${slug} from ${shortId(snapshotId)} (${tier}), taken ${stamp(takenAt, now)}.`,
    paint.red(`DATA LOSS: everything of the last ${lasted(takenAt, null, now)} (messages, files, accounts).`),
    'The box is offline during the restore. The current data is kept as a pre-restore snapshot.',
    status === 'damaged' ? paint.red('This snapshot is damaged: the restore may fail.') : proof,
  ].join('\n')
}

const words = {
  restored: (slug: string) => `${slug} is restored and verified.`,
  failed: (slug: string) => `Restore failed; ${slug} is unchanged and verified.`,
  restore_failed: (slug: string) =>
    `Restore failed; ${slug} is quarantined (fenced and stopped), with both its former data and the snapshot’s. Operator action is required.`,
} as const satisfies Record<RestoreResult['outcome'], (slug: string) => string>

const isMove = (restored: CommandView | Started | BoxMove): restored is BoxMove => 'moveId' in restored

function restoreView(restored: CommandView | Started | BoxMove, style: Style, { slug }: { slug: string }): string {
  const { paint } = style
  if (isMove(restored)) return moveView(restored, style, { slug })
  if ('commandId' in restored)
    return `Restore started; ${slug} is on hold until it finishes. Follow it: ${followLine(slug, restored.commandId)}`
  const result = outcomeOf(restored)
  if (!result) return ''
  const { outcome, error, preRestore, fencedMs, keptFiles = [] } = result
  return sections(
    paint[outcome === 'restored' ? 'green' : 'red'](words[outcome](slug)),
    error ? `${clean(error.message)} [${clean(error.code)}]` : '',
    preRestore ? `Pre-restore snapshot: ${shortId(preRestore.snapshotId)}; downtime: ${duration(fencedMs)}.` : '',
    keptFiles.length > 0 ? `Files that the snapshot does not have are kept: ${clean(keptFiles.join(', '))}` : '',
  )
}
