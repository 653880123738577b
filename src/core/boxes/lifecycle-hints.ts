import { duration } from '../kit/index.ts'
import type { MovePlan } from './lifecycle-contract.ts'
import type { BoxMove } from './move.ts'
import type { BoxRemoval } from './removal.ts'
import { reintroducedText } from './vulnerability-texts.ts'

// Texts of the CLI and the console about moves and removals.

/** Names the next command of an operator about a move; undefined while its hosts work on it. */
export const moveHint = (move: BoxMove, slug: string): string | undefined => {
  const { state, from, to } = move
  if (move.mayRunOnNewHost)
    return `${slug} is stopped on ${from}, and ${to} may still run it. fix: stop its containers on ${to} (docker ps, docker stop), then: tenantry boxes move ${slug} --back --stopped-on-new-host`
  return {
    handing_over: undefined,
    taking_over: undefined,
    taking_back: undefined,
    removing: undefined,
    stranded: `${slug} does not run; it is stopped on ${from}. fix: once that host is online, tenantry boxes move ${slug} --back`,
    confirming: `${slug} runs on ${to}. Check it, then delete the copy on ${from}: tenantry boxes move ${slug} --confirm`,
    done: `${slug} runs on ${to}.`,
    given_back: `${slug} runs on ${from} as before.`,
    failed: `${slug} is on ${from} as before: tenantry boxes check ${slug}`,
  }[state]
}

/** Says what has become of the data of a removed box, and how to undo it. */
export const removalHint = ({ state, keepUntil }: BoxRemoval, slug: string): string | undefined =>
  ({
    handing_over: undefined,
    taking_back: undefined,
    erasing: undefined,
    kept: `${slug} is stopped; ${keptText(keepUntil, slug)}. Restore it: tenantry boxes remove ${slug} --undo`,
    erased: `The data of ${slug} on its host is erased; its snapshots stay until they expire.`,
    undone: `${slug} runs again.`,
    failed: `${slug} runs as before.`,
  })[state]

/** Data without a last snapshot do not expire. */
const keptText = (keepUntil: string | null, slug: string): string =>
  keepUntil
    ? `its data expires ${keepUntil.slice(0, 10)}`
    : `its data stays until you erase it: tenantry boxes remove ${slug} --now --reason <why>`

/** Older moves are only in the audit log. */
const movesShownMs = 30 * 86_400_000

export const isMoveShown = ({ finishedAt }: BoxMove, now: Date): boolean =>
  finishedAt === null || now.getTime() - Date.parse(finishedAt) < movesShownMs

export const isRemovalShown = ({ state, error }: BoxRemoval): boolean => state !== 'undone' || error !== null

/** The effect of a move on the users and data of a box, before it begins. `takenAt` is the time of the snapshot, as the reader shows times. */
export function movePlanTexts(slug: string, { from, to, snapshot, losesMs }: MovePlan, takenAt: string | undefined): readonly string[] {
  if (!snapshot) return [`${slug} is offline from its stop on ${from} until it is verified on ${to}. No data loss.`]
  const { snapshotId, damaged, reopens } = snapshot
  return [
    `${from} is dead: ${slug} is rebuilt from the snapshot of ${takenAt}. DATA LOSS: everything of the last ${duration(losesMs)}.`,
    ...(damaged
      ? [
          `Snapshot ${snapshotId.slice(0, 8)} is DAMAGED, and no better one exists. If it cannot be read, the move fails and ${slug} stays unchanged.`,
        ]
      : []),
    ...(reopens.length > 0 ? [reintroducedText(slug, reopens)] : []),
  ]
}

/** The questions before a step that changes where the data of a box is. */
export const lifecycleQuestions = {
  move: (slug: string, { from, to }: Pick<MovePlan, 'from' | 'to'>) => `Move ${slug} from ${from} to ${to}?`,
  confirmMove: (slug: string) => `Permanently delete the copy of ${slug} on its old host?`,
  moveBack: (slug: string) => `Revert the move and run ${slug} on its old host again?`,
  undoRemoval: (slug: string) => `Restore ${slug}?`,
  importBox: (slug: string, downtimeMs: number) =>
    `Import ${slug}? Its chat is offline for about ${duration(downtimeMs)}; then logins go through the platform alone.`,
  undoImport: (slug: string, project: string) => `Stop ${slug} and start its stack ${project} as it was?`,
} as const
