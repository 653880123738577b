import { problem } from '../../core/kit/index.ts'
import { type Tending, tendRepository } from '../../node/restic/index.ts'
import { boxOfCommand, type LocalBoxes } from '../boxes/index.ts'
import type { OnceOnly } from '../journal/index.ts'
import type { CommandExecutor, Repository, SnapshotStore } from '../ports/index.ts'
import { runOnce } from '../saga/index.ts'
import { fetchRepository } from './repository-of-command.ts'
import { localFolder } from './room-for-snapshot.ts'

const kind = 'tenant-box.tend_snapshots'

export type TendDeps = Readonly<{ boxes: LocalBoxes; once: OnceOnly; snapshots: SnapshotStore }>

/**
 * Looks after a repository on this host, for the daemon that cannot reach it. Nothing else is done to the box while something is removed,
 * for an update must not find the repository locked. Reading all of it may take hours, so that is done after the box is free again.
 */
export const tendSnapshots =
  (deps: TendDeps): CommandExecutor<typeof kind> =>
  async (context, payload) => {
    const { signal } = context
    const { forget, prune, check } = payload
    const tend = async (repository: Repository, work: Tending) => {
      context.progress({ step: 'tend' })
      return tendRepository(deps.snapshots, repository, work, signal)
    }
    const tended = await runOnce(
      deps.once,
      { context, kind, payload },
      {
        admit: () => boxOfCommand(deps.boxes, payload),
        perform: async () => tend(await ownRepository(context), { forget, prune, check: check === 'structure' ? check : 'none' }),
      },
    )
    if (check !== 'data') return tended
    context.progress({ step: 'check' })
    return { ...tended, check: await deps.snapshots.check(await ownRepository(context), check, signal) }
  }

/** Throws CONFLICT for a repository elsewhere: agents have no credential that may delete there, and must not be given one. */
async function ownRepository(context: Parameters<typeof fetchRepository>[0]): Promise<Repository> {
  const repository = await fetchRepository(context)
  if (localFolder(repository) !== undefined) return repository
  throw problem('CONFLICT', `the repository ${repository.repository} is not on this host: the daemon itself looks after it`)
}
