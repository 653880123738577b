import { problem } from '../../core/kit/index.ts'
import type { GuardedRun } from './guarded-run.ts'

/** What is read or filled must be the volume that is meant: the former one is the only copy of what it holds. Throws RESTORE_FAILED. */
export async function needMounted({ needs, box }: Pick<GuardedRun, 'needs' | 'box'>, volume: string): Promise<void> {
  const database = (await needs.engine.containers(box.project)).find(({ service }) => service === 'postgres')
  if (!database?.volumes.includes(volume))
    throw problem(
      'RESTORE_FAILED',
      `the database of ${box.slug} did not get the volume ${volume} but ${database?.volumes.join(', ') || 'none'}`,
    )
}
