import type { BoxMove } from './move.ts'
import type { BoxRemoval } from './removal.ts'

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
    kept: `${slug} is stopped; its data expires ${keepUntil?.slice(0, 10) ?? 'when it is erased'}. Restore it: tenantry boxes remove ${slug} --undo`,
    erased: `The data of ${slug} on its host is erased; its snapshots stay until they expire.`,
    undone: `${slug} runs again.`,
    failed: `${slug} runs as before.`,
  })[state]

/** Older moves are only in the audit log. */
const movesShownMs = 30 * 86_400_000

export const isMoveShown = ({ finishedAt }: BoxMove, now: Date): boolean =>
  finishedAt === null || now.getTime() - Date.parse(finishedAt) < movesShownMs

export const isRemovalShown = ({ state, error }: BoxRemoval): boolean => state !== 'undone' || error !== null
