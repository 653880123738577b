import { problem } from '../../core/kit/index.ts'
import { maintainRepository, type Tending } from '../../node/restic/index.ts'
import { boxOfCommand, type LocalBoxes } from '../boxes/index.ts'
import type { OnceOnly } from '../journal/index.ts'
import type { CommandContext, CommandExecutor, Repository, SnapshotStore } from '../ports/index.ts'
import { runOnce } from '../saga/index.ts'
import { localFolder } from './disk-space.ts'
import { reportWaiting } from './report-waiting.ts'

const kind = 'tenant-box.tend_snapshots'

type MaintainDeps = Readonly<{ boxes: LocalBoxes; once: OnceOnly; snapshots: SnapshotStore }>

/**
 * Maintains a repository on this host that the daemon cannot reach. Nothing else runs on the box while snapshots are removed, so that an
 * update never finds the repository locked. Reading all data may take hours, so it runs after the box is free again.
 */
export const maintainSnapshots =
  (deps: MaintainDeps): CommandExecutor<typeof kind> =>
  async (context, payload) => {
    const { signal } = context
    const { forget, prune, check } = payload
    const maintain = async (repository: Repository, work: Tending) => {
      context.progress({ step: 'tend' })
      return maintainRepository({ care: deps.snapshots, repository }, work, signal)
    }
    const maintained = await runOnce(
      deps.once,
      { context, kind, payload },
      {
        admit: () => boxOfCommand(deps.boxes, payload),
        perform: async () => maintain(await ownRepository(context), { forget, prune, check: check === 'structure' ? check : 'none' }),
      },
    )
    if (check !== 'data') return maintained
    context.progress({ step: 'check' })
    return { ...maintained, check: await deps.snapshots.check(await ownRepository(context), check, signal) }
  }

/** Throws CONFLICT for a repository elsewhere: agents have no credential that may delete there. */
async function ownRepository(context: Parameters<typeof fetchRepository>[0]): Promise<Repository> {
  const repository = await fetchRepository(context)
  if (localFolder(repository) !== undefined) return repository
  throw problem('CONFLICT', `the repository ${repository.repository} is not on this host; the daemon maintains it`)
}

type Asking = Pick<CommandContext, 'secrets' | 'progress'>

/**
 * The tenant's repository, requested from the daemon and stored in memory only. A wait for its lock is progress of the command. Throws CONFIG if
 * the daemon has no snapshot store.
 */
export async function fetchRepository(context: Asking): Promise<Repository> {
  const { snapshots } = await context.secrets()
  if (!snapshots)
    throw problem('CONFIG', 'the daemon has no snapshot store. fix: set TENANTRY_SNAPSHOT_STORE and TENANTRY_BACKUP_KEY there')
  return { ...snapshots, onWaiting: reportWaiting(context) }
}

/**
 * Opens the repository before anything of the box is touched. The daemon learns its id at the first use, so that no other repository can take
 * its place. Throws SNAPSHOT_STORE_LOST and the errors of the store.
 */
export async function prepareRepository(
  { snapshots }: Pick<MaintainDeps, 'snapshots'>,
  context: Pick<CommandContext, 'deliver'>,
  repository: Repository,
): Promise<void> {
  const { repositoryId } = await snapshots.prepare(repository)
  if (repository.repositoryId === undefined) await context.deliver({ snapshotRepositoryId: repositoryId })
}

/** The same, requested once and only when needed. */
export function repositoryOnce(context: Asking): () => Promise<Repository> {
  let repository: Repository | undefined
  return async () => {
    repository ??= await fetchRepository(context)
    return repository
  }
}
