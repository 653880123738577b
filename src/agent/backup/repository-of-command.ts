import { problem } from '../../core/kit/index.ts'
import type { CommandContext, Repository } from '../ports/index.ts'

/** The tenant's repository, asked of the daemon and kept in memory only. Throws CONFIG where the daemon has no snapshot store. */
export async function fetchRepository(context: Pick<CommandContext, 'secrets'>): Promise<Repository> {
  const { snapshots } = await context.secrets()
  if (!snapshots) throw problem('CONFIG', 'the daemon has no snapshot store: set TENANTRY_SNAPSHOT_STORE and TENANTRY_BACKUP_KEY there')
  return snapshots
}

/** The same, asked for once and only when it is needed. */
export function repositoryOnce(context: Pick<CommandContext, 'secrets'>): () => Promise<Repository> {
  let repository: Repository | undefined
  return async () => {
    repository ??= await fetchRepository(context)
    return repository
  }
}
