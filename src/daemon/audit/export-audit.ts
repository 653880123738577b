import type { AuditEntry, ChainHead, Checkpoint } from '../../core/audit/index.ts'
import type { Db } from '../db/index.ts'
import { entriesAfter, headOf, noChain } from './audit.repo.ts'
import { type CheckpointDeps, checkpointAudit, checkpointsOf } from './checkpoint-audit.ts'
import { loadCheckpointKey, publicHalf } from './checkpoint-key.ts'

type Page = Readonly<{ chain: string; after: number; limit: number }>

/**
 * A page of a chain in its order, with the head as it is now. Whoever exports asks for pages up to the head of the first one: what is
 * appended meanwhile belongs to the next export. Throws NOT_FOUND for a chain without entries.
 */
export async function exportAudit(
  { db }: Readonly<{ db: Db }>,
  { chain, after, limit }: Page,
): Promise<{ chain: string; head: ChainHead; entries: AuditEntry[] }> {
  const head = await headOf(db, chain)
  const entries = await entriesAfter(db, chain, after, limit)
  // A head that was taken away is for the proof to find; entries without one are given out all the same.
  if (head.seq === 0 && after === 0 && entries.length === 0) throw noChain(chain)
  return { chain, head, entries }
}

/** The newest are enough: each stands for all entries before it. */
const mostCheckpoints = 1000

type Signed = Readonly<{ keyId: string; publicKey: string; checkpoints: Checkpoint[] }>

/** The newest signed heads of a chain that this daemon's file holds, oldest first. */
export async function listCheckpoints(deps: CheckpointDeps, { chain }: { chain: string }): Promise<Signed> {
  const key = await loadCheckpointKey(deps.dataDir)
  const all = await checkpointsOf(deps)
  return { ...publicHalf(key), checkpoints: all.filter((one) => one.chain === chain).slice(-mostCheckpoints) }
}

/** Signs what is not signed yet, and answers the newest checkpoint of each chain. Throws NOT_FOUND for a chain without entries. */
export async function signCheckpoint(deps: CheckpointDeps, { chain }: { chain?: string | undefined }): Promise<Signed> {
  await checkpointAudit(deps, { chain })
  const key = await loadCheckpointKey(deps.dataDir)
  const newest = new Map((await checkpointsOf(deps)).map((one) => [one.chain, one]))
  const wanted = chain === undefined ? [...newest.values()] : [newest.get(chain)].filter((one) => one !== undefined)
  if (chain !== undefined && wanted.length === 0) throw noChain(chain)
  return { ...publicHalf(key), checkpoints: wanted.toSorted((a, b) => (a.chain < b.chain ? -1 : 1)) }
}

export const auditPublicKey = async ({ dataDir }: Pick<CheckpointDeps, 'dataDir'>) => publicHalf(await loadCheckpointKey(dataDir))
