import type { ListedSnapshot, TendedSnapshots } from '../../core/boxes/index.ts'
import type { Repository, StoredSnapshot } from './repository.ts'
import type { CheckDepth, RepositoryCare } from './repository-care.ts'

export type Tending = Readonly<{
  /** Full ids, decided by the caller. */
  forget: readonly string[]
  prune: boolean
  check: 'none' | CheckDepth
}>

/** The contract's own limit; the newest are what anybody asks for. */
const mostListed = 5_000

/**
 * Forgets, prunes, checks, lists, in this order. It may be called again after it broke off: what is gone already counts as forgotten.
 * Throws VALIDATION for an id that is not a full one, else as `RepositoryCare`; damage is in the result.
 */
export async function tendRepository(
  care: RepositoryCare,
  repository: Repository,
  { forget, prune, check }: Tending,
  signal?: AbortSignal,
): Promise<TendedSnapshots> {
  if (forget.length > 0) await care.forget(repository, forget, signal)
  const freedBytes = prune ? await care.prune(repository, signal) : null
  const checked = check === 'none' ? null : await care.check(repository, check, signal)
  const present = await care.list(repository)
  const ids = new Set(present.map(({ id }) => id))
  return { forgotten: forget.filter((id) => !ids.has(id)), present: present.slice(-mostListed).map(listed), freedBytes, check: checked }
}

/** A warm copy is nobody's snapshot: it bears no tier, so that no retention counts it. */
const listed = ({ id, tier, commandId, slug, takenAt, addedBytes, warm }: StoredSnapshot): ListedSnapshot => ({
  snapshotId: id,
  tier: warm ? null : tier,
  commandId,
  slug,
  takenAt,
  addedBytes,
})
