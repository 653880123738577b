import { sign } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ChainHead, type Checkpoint, checkpointText, readCheckpoints } from '../../core/audit/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { type Logger, readIfThere } from '../../node/index.ts'
import { type Db, enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { chainNames, entriesAfter, headOf } from './audit.repo.ts'
import { loadCheckpointKey } from './checkpoint-key.ts'

export type CheckpointDeps = Readonly<{
  db: Db
  clock: Clock
  log: Logger
  dataDir: string
  /** Called with each signed head, so that it leaves the machine; again with the same head after a crash. */
  signed?: (checkpoint: Checkpoint) => Promise<void>
  /** Called for a chain that no longer matches its signed head of `count` entries at `at`. */
  broken?: (facts: Pick<Checkpoint, 'chain' | 'count' | 'at'>) => Promise<void>
  /** Called for a chain that matches its signed head, at each check. */
  whole?: (chain: string) => Promise<void>
}>

/** The job topic of `requestCheckpoint`. */
export const checkpointTopic = 'audit.checkpoint'

/** Asks, in the transaction that ends a phase, for a checkpoint of the chain once it is committed. */
export const requestCheckpoint = (tx: Tx, clock: Clock, { chain = 'admin' }: { chain?: string } = {}): Promise<void> =>
  enqueueJob(tx, clock, { topic: checkpointTopic, payload: { chain } })

export const checkpointHandler =
  (deps: CheckpointDeps): JobHandler =>
  async (payload) => {
    const { chain } = payload as { chain?: string }
    if ((await checkpointAudit(deps, { chain })).length > 0) return
    // Already signed, maybe by a process that died before it published the head; receivers ignore a known head.
    const last = (await checkpointsOf(deps)).findLast((one) => one.chain === chain)
    if (last) await deps.signed?.(last)
  }

const fileIn = (dataDir: string): string => join(dataDir, 'audit-checkpoints.jsonl')

/** All that this daemon signed, oldest first. A line that a crash cut short counts for nothing. */
export const checkpointsOf = async ({ dataDir }: Pick<CheckpointDeps, 'dataDir'>): Promise<Checkpoint[]> =>
  readCheckpoints((await readIfThere(fileIn(dataDir))) ?? '').checkpoints

/**
 * Signs the heads of all chains (or one) that moved since their last checkpoint, and appends them to `audit-checkpoints.jsonl` and the log.
 * Doing it twice adds nothing. A chain that no longer holds what was signed of it before is not signed again: that would bury the proof.
 */
export async function checkpointAudit(deps: CheckpointDeps, { chain }: { chain?: string | undefined } = {}): Promise<Checkpoint[]> {
  const { db, log, dataDir } = deps
  const file = fileIn(dataDir)
  const before = (await readIfThere(file)) ?? ''
  const last = new Map(readCheckpoints(before).checkpoints.map((one) => [one.chain, one]))
  const made: Checkpoint[] = []
  for (const name of chain === undefined ? await chainNames(db) : [chain]) {
    const head = await headOf(db, name)
    if (await isToSign(deps, name, { head, last: last.get(name) }))
      made.push(await signed(deps, { chain: name, count: head.seq, hash: head.hash }))
  }
  if (made.length === 0) return made
  const cutShort = before !== '' && !before.endsWith('\n') // a crash left a partial line: start a new one
  const lines = made.map((checkpoint) => `${JSON.stringify(checkpoint)}\n`).join('')
  await appendFile(file, cutShort ? `\n${lines}` : lines, { mode: 0o600, flush: true })
  for (const checkpoint of made) {
    log.info({ checkpoint }, 'audit checkpoint')
    await deps.signed?.(checkpoint)
  }
  return made
}

async function isToSign(
  { db, log, broken, whole }: CheckpointDeps,
  chain: string,
  { head, last }: Readonly<{ head: ChainHead; last: Checkpoint | undefined }>,
): Promise<boolean> {
  if (!last) return head.seq > 0
  const [then] = last.hash === head.hash ? [head] : await entriesAfter(db, chain, { after: last.count - 1, limit: 1 })
  if (then?.hash === last.hash && (then === head || head.seq > last.count)) {
    await whole?.(chain)
    return then !== head
  }
  log.error(
    { chain, count: last.count, signedAt: last.at },
    'The audit log no longer matches its signed head: it was truncated or rewritten. fix: keep the database and compare it with a backup',
  )
  await broken?.({ chain, count: last.count, at: last.at })
  return false
}

async function signed({ clock, dataDir }: CheckpointDeps, head: { chain: string; count: number; hash: string }): Promise<Checkpoint> {
  const key = await loadCheckpointKey(dataDir)
  const content = { ...head, at: isoNow(clock) }
  const signature = sign(null, Buffer.from(checkpointText(content)), key.privateKey).toString('base64url')
  return { ...content, keyId: key.id, signature }
}
