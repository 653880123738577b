import { chatQueuesOf } from '../../core/jobs/index.ts'
import type { Tx } from '../db/index.ts'

/** Discards all jobs of a tenant for its chat server. A job that runs now may finish. */
export async function discardJobsOf(tx: Tx, tenantId: string): Promise<void> {
  const { from, to } = chatQueuesOf(tenantId)
  for (const table of ['outbox', 'outbox_queues'] as const)
    await tx.deleteFrom(table).where('queue', '>=', from).where('queue', '<', to).execute()
}
