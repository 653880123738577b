import { type ReintroducedVulnerability, type RestoreResult, reintroducedText } from '../../core/boxes/index.ts'
import type { CommandView } from '../../core/hosts/index.ts'
import { duration, isProblem, problem } from '../../core/kit/index.ts'
import type { Snapshot } from '../../core/snapshots/index.ts'
import { type Context, clean, command, flag, lasted, required, type Style, sections, stamp, text } from '../kit/index.ts'
import { follow } from './follow.ts'
import { findSnapshot, shortId } from './list.ts'

/** `reopens`: a daemon from before it knew of holes says nothing of them. */
type Asked = Readonly<{ commandId: string; snapshotId: string; reopens?: readonly ReintroducedVulnerability[] }>

const outcomeOf = (restored: CommandView | Asked): RestoreResult | undefined =>
  'result' in restored ? (restored.result as RestoreResult) : undefined

export const restore = command(
  'restore <slug>',
  'Bring a box back to a snapshot; what came after it is lost',
  {
    snapshot: required(text('--snapshot <id>', 'which one; the beginning of its id is enough')),
    reason: required(text('--reason <text>', 'why; it stands in the audit log')),
    allowHole: flag('--allow-hole', 'also where the snapshot has a hole that an emergency closed: it is open again'),
    wait: flag('--wait', 'wait for the agent, and tell each step'),
  },
  async (context, { slug, snapshot, reason, allowHole, wait }): Promise<CommandView | Asked> => {
    const meant = await findSnapshot(context, slug, snapshot)
    if (!context.yes) await askPerson(context, slug, meant)
    const asked = await askDaemon(context, slug, { snapshotId: meant.snapshotId, reason }, allowHole)
    if (asked.reopens?.length) context.notify(clean(reintroducedText(slug, asked.reopens)))
    return wait ? follow(context, slug, asked.commandId, 'restoring') : asked
  },
  restoreView,
  {
    exit: (restored) => (['restored', undefined].includes(outcomeOf(restored)?.outcome) ? 0 : 1),
    examples: ["restore anna-schule --snapshot 3f2a91c0 --reason 'the import went wrong' --wait"],
  },
)

type Body = Readonly<{ snapshotId: string; reason: string }>

/** Where it would open a hole again a person is asked once more, who sees which; a script must have said so before. */
async function askDaemon({ api, yes, ask, notify }: Context, slug: string, body: Body, allowHole: boolean): Promise<Asked> {
  // Said only where it is meant: an older daemon refuses what it does not know, and its restores must not fail for that.
  const restoreBox = (allowed: boolean) =>
    api.snapshots.restoreBox({ params: { slug }, body: { ...body, ...(allowed ? { allowHole: true } : {}) } })
  try {
    return await restoreBox(allowHole)
  } catch (error) {
    if (yes || !isProblem(error, 'REOPENS_HOLE')) throw error
    notify(`\n${clean(error.message)}`)
    const typed = await ask.text('Type "open" to do it all the same:', 'give --allow-hole to go on without being asked')
    if (typed.trim() !== 'open') throw problem('CANCELLED', 'nothing was changed')
    return restoreBox(true)
  }
}

/** A restore cannot be taken back by a keystroke, so it takes more than one to ask for it. */
async function askPerson({ ask, notify }: Context, slug: string, snapshot: Snapshot): Promise<void> {
  notify((style) => lossView(slug, snapshot, style))
  const typed = await ask.text(
    `Type ${slug} to bring it back to ${shortId(snapshot.snapshotId)}:`,
    'give --yes to go on without being asked',
  )
  if (typed.trim() !== slug) throw problem('CANCELLED', `that is not ${slug}; nothing was changed`)
}

function lossView(slug: string, snapshot: Snapshot, { now, paint }: Style): string {
  const { snapshotId, tier, takenAt, lastProof, status } = snapshot
  const proof = lastProof
    ? `It was proven ${stamp(lastProof.at, now)}${lastProof.durationMs === null ? '' : ` and took ${duration(lastProof.durationMs)}`}.`
    : 'It was never proven to come back: tenantry snapshots drill does that first.'
  return [
    `${slug} goes back to ${shortId(snapshotId)} (${tier}), taken ${stamp(takenAt, now)}.`,
    paint.red(`Everything of the last ${lasted(takenAt, null, now)} is lost to its users: messages, files, accounts.`),
    'Its chat is away meanwhile. What is there now is kept as a snapshot of its own.',
    status === 'damaged' ? paint.red('This snapshot is damaged: it may not come back whole.') : proof,
  ].join('\n')
}

const words = {
  restored: (slug: string) => `${slug} runs again, with the data of the snapshot, proven.`,
  failed: (slug: string) => `${slug} is as it was before, proven: nothing of it was changed.`,
  restore_failed: (slug: string) => `${slug} rests closed and stopped, with its former data and the snapshot’s: a person must look.`,
} as const satisfies Record<RestoreResult['outcome'], (slug: string) => string>

function restoreView(restored: CommandView | Asked, { paint }: Style, { slug }: { slug: string }): string {
  const result = outcomeOf(restored)
  if (!result) return `The agent was asked, and ${slug} is held until it has answered: tenantry boxes show ${slug}`
  const { outcome, error, preRestore, fencedMs } = result
  return sections(
    paint[outcome === 'restored' ? 'green' : 'red'](words[outcome](slug)),
    error ? `${clean(error.message)} [${clean(error.code)}]` : '',
    preRestore ? `What it had before is the snapshot ${shortId(preRestore.snapshotId)}; its chat was away for ${duration(fencedMs)}.` : '',
  )
}
