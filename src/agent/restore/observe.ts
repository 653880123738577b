import { quarantineReason, type RestoreWorld } from '../../core/boxes/index.ts'
import { sha256Hex } from '../../core/kit/index.ts'
import { readFence } from '../boxes/index.ts'
import { observeBox } from '../change/index.ts'
import { restoredText } from './exchange.ts'
import type { RestoreRun } from './restore-run.ts'

/** What is on the host now, as far as the plan depends on it. */
export async function observe(run: RestoreRun): Promise<RestoreWorld> {
  const { world, text } = await observeBox(run)
  const before = run.evidence().fetch
  const quarantined = (before ? before.restedUnder : await restingUnder(run)) !== null
  return { ...world, quarantined, compose: await composeOf(run, text) }
}

async function composeOf(run: RestoreRun, text: string): Promise<RestoreWorld['compose']> {
  const { fetch, load } = run.evidence()
  if (!fetch || sha256Hex(text) === fetch.composeSha256) return 'former'
  return load && text === (await restoredText(run).catch(() => undefined)) ? 'restored' : 'other'
}

/** The command that left the box at rest, for an operator to decide: its fence may be taken over, because it has ended. */
export async function restingUnder({ box, context, deps }: RestoreRun): Promise<string | null> {
  const holder = (await readFence(box.project))?.holder
  if (holder === undefined || holder === context.commandId) return null
  const ofBox = (await deps.journal.all()).filter(({ slug }) => slug === box.slug)
  return quarantineReason(holder, box, ofBox) ? holder : null
}
